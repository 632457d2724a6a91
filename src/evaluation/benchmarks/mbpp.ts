import { mbppTasks } from './questions/mbpp-tasks';

export const mbpp = mbppTasks({
  name: 'mbpp',
  config: 'sanitized',
  description:
    'Python programs from a sentence and its assertions; the 257 tasks of the sanitized test split, no shots',
});
