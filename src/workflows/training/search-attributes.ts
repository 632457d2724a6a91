import { defineSearchAttributeKey, SearchAttributeType } from '@temporalio/common';
import { upsertSearchAttributes } from '@temporalio/workflow';
import type { TrainSupervisedInput } from '../contracts';
import type { TrainingState } from './training-state';

const STEP = defineSearchAttributeKey('EverstepStep', SearchAttributeType.INT);
const STATUS = defineSearchAttributeKey('EverstepStatus', SearchAttributeType.KEYWORD);

/** Makes the run findable by step and status, once a segment; one event each. */
export function publishProgress(input: TrainSupervisedInput, state: TrainingState): void {
  if (!input.useSearchAttributes) return;
  upsertSearchAttributes([
    { key: STEP, value: Math.max(0, state.position.collectedThrough) },
    { key: STATUS, value: state.status },
  ]);
}
