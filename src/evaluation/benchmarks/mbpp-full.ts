import { mbppTasks } from './questions/mbpp-tasks';

export const mbppFull = mbppTasks({
  name: 'mbpp_full',
  config: 'full',
  description:
    'Python programs from a sentence and its assertions; the 500 tasks of the whole test split, no shots',
});
