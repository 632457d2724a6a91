import type { TrainReinforcementInput, TrainReport } from './contracts';
import { trainRun } from './training/train-run';
import type { TrainingState } from './training/training-state';

/**
 * Train a model by reinforcement: groups of rollouts, advantages, policy loss; evaluating snapshots on the way.
 *
 * Every batch counts exactly once in the final weights, and no rollout is paid for twice: each group is journalled when
 * it is done, a repeated attempt samples what is missing, and a model that is lost trains the journalled rollouts again.
 */
export async function trainReinforcement(
  input: TrainReinforcementInput,
  carried?: TrainingState,
): Promise<TrainReport> {
  return trainRun(input, carried);
}
