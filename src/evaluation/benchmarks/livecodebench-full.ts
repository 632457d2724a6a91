import { livecodebenchTasks } from './questions/livecodebench-tasks';

export const livecodebenchFull = livecodebenchTasks({
  name: 'livecodebench_full',
  files: ['test.jsonl', 'test2.jsonl', 'test3.jsonl', 'test4.jsonl', 'test5.jsonl', 'test6.jsonl'],
  what: 'all 1,055 problems of release 6, some 4.5 GB of tests',
});
