import type { RunStore } from '../stores/run-store';

/** What the client library reads of the run store. */
export type RunRecords = Pick<
  RunStore,
  | 'exists'
  | 'listRuns'
  | 'readCheckpoints'
  | 'readConfig'
  | 'readControls'
  | 'readMetrics'
  | 'readScores'
  | 'readState'
  | 'readTiming'
  | 'runFolder'
>;
