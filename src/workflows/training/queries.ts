import { setHandler } from '@temporalio/workflow';
import type { LiveStatus } from '../../core/run';
import { evaluationsQuery, scoresQuery, statusQuery } from '../contracts';
import type { TrainingState } from './training-state';

/** Answers from the first moment on, also while the run is being prepared. */
export function answerQueries(run: string, current: { readonly state: TrainingState | null }): void {
  setHandler(statusQuery, () => liveStatus(run, current.state));
  setHandler(evaluationsQuery, () => current.state?.cells ?? []);
  setHandler(scoresQuery, () => current.state?.recentScores ?? []);
}

function liveStatus(run: string, state: TrainingState | null): LiveStatus {
  if (!state) return { ...BEFORE_START, run };
  const { plan, position } = state;
  const step = Math.max(0, position.collectedThrough);
  return {
    run,
    status: state.status,
    step,
    submittedThrough: Math.max(0, position.submittedThrough),
    totalSteps: plan.totalSteps,
    epoch: Math.floor(step / plan.stepsPerEpoch),
    stopAt: state.stop?.step ?? null,
    waitingFor: state.waitingFor,
    pendingEvaluations: state.pending.length,
    incarnation: state.model?.incarnation ?? 0,
    lineage: state.model?.lineage ?? 0,
    rewinds: state.rewinds,
    stepsReplayed: state.stepsReplayed,
    ...(state.remarks && { remarks: state.remarks }),
  };
}

const BEFORE_START: Omit<LiveStatus, 'run'> = {
  status: 'running',
  step: 0,
  submittedThrough: 0,
  totalSteps: 0,
  stopAt: null,
  epoch: 0,
  waitingFor: null,
  pendingEvaluations: 0,
  incarnation: 0,
  lineage: 0,
  rewinds: 0,
  stepsReplayed: 0,
};
