import { allHandlersFinished, condition, continueAsNew, workflowInfo } from '@temporalio/workflow';
import type { TrainReport, TrainingInput } from '../contracts';
import type { TrainingLoop } from './training-loop';
import type { TrainingState } from './training-state';

/** Every training workflow takes what an earlier execution carried as its second argument. */
type TrainingWorkflow = (input: TrainingInput, carried: TrainingState) => Promise<TrainReport>;

/** Few enough that a new worker is up to date within a second. */
const MAX_EVENTS = 2000;

/** Goes on in a new execution, once what came in is written and everybody who asked has an answer. */
export async function continueIfLong({ state, input, evaluations }: TrainingLoop): Promise<void> {
  if (!isLong(input)) return;
  await evaluations.settle();
  await condition(allHandlersFinished);
  // The diff is in the run's folder by now and need not travel again.
  const provenance = { ...input.provenance, codeDiff: null };
  await continueAsNew<TrainingWorkflow>({ ...input, provenance }, state);
}

export function isLong({ maxHistoryEvents }: TrainingInput): boolean {
  const { continueAsNewSuggested, historyLength } = workflowInfo();
  return continueAsNewSuggested || historyLength >= (maxHistoryEvents ?? MAX_EVENTS);
}
