import { condition } from '@temporalio/workflow';
import { refused } from '../../core/controls';
import type { EvaluationRequest } from '../../core/controls/evaluation-request';
import type { PromotionRequest } from '../../core/controls/promotion';
import { keptText } from '../../core/kept-checkpoints';
import type { CheckpointRow } from '../../core/run';
import { bookkeeping } from '../activities';
import type { Resolve, ResolvedChange } from './changes';
import { evaluationOf, evaluationOfNow } from './changes';
import type { TrainingState } from './training-state';
import { isPaused, lastStepOf, sentThroughOf } from './training-state';

/**
 * What an evaluation that was asked for measures. The last step is measured by its checkpoint, once that is there; who asked
 * waits for it until `mustAnswer`.
 */
export async function evaluationTarget(
  { checkpoint }: EvaluationRequest,
  state: TrainingState,
  mustAnswer: () => boolean,
): Promise<Resolve<EvaluationRequest>> {
  const isEnding = sentThroughOf(state) >= lastStepOf(state) && !isPaused(state);
  if (checkpoint === null && !isEnding) return evaluationOfNow;
  const step = checkpoint ?? (await lastStepOnceTrained(state, mustAnswer));
  const { sampler_path: samplerPath, lineage } = await requireCheckpoint(state.plan.run, step);
  return evaluationOf(step, { samplerPath: samplerPath ?? '', isCheckpoint: true, lineage });
}

async function lastStepOnceTrained(state: TrainingState, mustAnswer: () => boolean): Promise<number> {
  const isTrained = () => state.position.collectedThrough >= lastStepOf(state);
  await condition(() => isTrained() || mustAnswer());
  const step = lastStepOf(state);
  if (isTrained()) return step;
  throw refused(`Step ${step}, the last one, is not trained. Ask again when it is.`);
}

/** Has the service keep a checkpoint for good, and notes it as the best. */
export async function promotionChange(
  { checkpoint: step, by, reason }: PromotionRequest,
  state: TrainingState,
): Promise<ResolvedChange> {
  const name = await promoteStep(state.plan.run, { checkpoint: step, by, reason });
  return {
    row: { control: 'promote', step, from: state.best?.step ?? null, to: step },
    apply: () => {
      state.best = { step, name };
    },
  };
}

/** Name of the checkpoint that is the best from now on. */
export async function promoteStep(
  run: string,
  { checkpoint: step, by, reason }: PromotionRequest,
): Promise<string> {
  const { name, state_path, sampler_path } = await requireCheckpoint(run, step);
  const at = new Date().toISOString();
  const promotion = { step, name, state_path, sampler_path, at, by, reason };
  const lack = await bookkeeping.promoteCheckpoint({ run, promotion });
  if (lack !== null) throw refused(`The checkpoint of step ${step} cannot be kept: ${lack}`);
  return name;
}

async function requireCheckpoint(run: string, step: number): Promise<CheckpointRow> {
  const found = await bookkeeping.findCheckpoint({ run, step });
  if (found.checkpoint) return found.checkpoint;
  const base = step === 0 ? ' Step 0 is what the run began with, and is only compared with.' : '';
  throw refused(`The run keeps no checkpoint of step ${step}. It keeps: ${keptText(found)}.${base}`);
}
