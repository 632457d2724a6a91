import { livecodebenchTasks } from './questions/livecodebench-tasks';

/** The newest file of the dataset alone. */
export const livecodebench = livecodebenchTasks({
  name: 'livecodebench',
  files: ['test6.jsonl'],
  what: 'the 175 problems that release 6 added, of contests from January to April 2025',
});
