import { allHandlersFinished, continueAsNew } from '@temporalio/workflow';
import type { TrainReport, TrainingInput } from '../contracts';
import { carriedState } from './carried-state';
import { isLong } from './long-history';
import type { TrainingLoop } from './training-loop';
import type { TrainingState } from './training-state';

/** Every training workflow takes what an earlier execution carried as its second argument. */
type TrainingWorkflow = (input: TrainingInput, carried?: TrainingState) => Promise<TrainReport>;

/** Goes on in a new execution, once what came in is written and everybody who asked has an answer. */
export async function continueIfLong({ state, input, evaluations, controls }: TrainingLoop): Promise<void> {
  if (!isLong(input)) return;
  controls.handOver();
  await evaluations.settle(allHandlersFinished);
  // The diff is in the run's folder by now and need not travel again.
  const provenance = { ...input.provenance, codeDiff: null };
  await continueAsNew<TrainingWorkflow>({ ...input, provenance }, carriedState(state));
}

/**
 * Goes on in a new execution from what the run's folder holds: this one was set back to a moment before its journals, and
 * what it remembers is not so any more.
 */
export async function continueFromFolder(input: TrainingInput): Promise<never> {
  const provenance = { ...input.provenance, codeDiff: null };
  const endedBefore = {
    at: new Date().toISOString(),
    text: 'reset: its workflow was set back to an earlier moment',
  };
  return continueAsNew<TrainingWorkflow>({ ...input, provenance, continues: true, endedBefore });
}
