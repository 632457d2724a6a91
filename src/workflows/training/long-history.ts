import { patched, workflowInfo } from '@temporalio/workflow';
import type { TrainingInput } from '../contracts';

/** Few enough that a new worker is up to date within a second. */
const MAX_EVENTS = 2000;

export function isLong({ maxHistoryEvents }: Pick<TrainingInput, 'maxHistoryEvents'>): boolean {
  const { continueAsNewSuggested, historyLength } = workflowInfo();
  return continueAsNewSuggested || historyLength >= (maxHistoryEvents ?? MAX_EVENTS);
}

/**
 * Whether something that may be waited for without end has to give way to a new execution: each time it is looked for
 * makes history, and the server ends a workflow whose history grows past its limit.
 */
export function mustGoOnAnew(input: Pick<TrainingInput, 'maxHistoryEvents'>): boolean {
  return isLong(input) && patched('long-waits-go-on-anew');
}
