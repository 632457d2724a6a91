import { defineSearchAttributeKey, SearchAttributeType } from '@temporalio/common';
import { upsertSearchAttributes } from '@temporalio/workflow';
import { headlineScore } from '../../core/headline-score';
import type { TrainingInput } from '../contracts';
import { shownStatus } from './training-state';
import type { TrainingState } from './training-state';

const STEP = defineSearchAttributeKey('EverstepStep', SearchAttributeType.INT);
const SCORE = defineSearchAttributeKey('EverstepScore', SearchAttributeType.DOUBLE);
const STATUS = defineSearchAttributeKey('EverstepStatus', SearchAttributeType.KEYWORD);

/** Makes the run findable by step, status and newest score, once a segment; one event each. */
export function publishProgress(input: TrainingInput, state: TrainingState): void {
  if (!input.useSearchAttributes) return;
  const score = headlineScore(state.recentScores)?.value ?? null;
  upsertSearchAttributes([
    { key: STEP, value: Math.max(0, state.position.collectedThrough) },
    { key: STATUS, value: shownStatus(state) },
    ...(score === null ? [] : [{ key: SCORE, value: score }]),
  ]);
}
