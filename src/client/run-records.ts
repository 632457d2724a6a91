import type { RunStore } from '../stores/run-store';

/** What the client library reads of the run store. */
export type RunRecords = Pick<
  RunStore,
  | 'cellFolder'
  | 'eachRun'
  | 'exists'
  | 'findUnreadable'
  | 'listRuns'
  | 'readCheckpoints'
  | 'readConfig'
  | 'readControls'
  | 'readEvents'
  | 'readLife'
  | 'readLastMetrics'
  | 'readMetrics'
  | 'readScores'
  | 'readSent'
  | 'readState'
  | 'readTiming'
  | 'root'
  | 'runFolder'
>;
