import type { RunState } from '../core/run';

const TEXTS = ['run', 'kind', 'model', 'status', 'startedAt', 'workflowId', 'engine'] as const;
const NUMBERS = ['step', 'totalSteps', 'lineage', 'rewinds', 'stepsReplayed'] as const;
const TEXTS_OR_NONE = ['closedAt', 'finalWeightsDigest', 'reason'] as const;

/** Whether what lies in a `state.json` can be shown and sorted; files can be copied, edited and damaged. */
export function isRunState(state: RunState): boolean {
  const { remarks = [] } = state;
  return (
    TEXTS.every((key) => typeof state[key] === 'string') &&
    NUMBERS.every((key) => Number.isFinite(state[key])) &&
    TEXTS_OR_NONE.every((key) => typeof (state[key] ?? '') === 'string') &&
    Array.isArray(remarks) &&
    remarks.every((remark) => typeof remark === 'string')
  );
}
