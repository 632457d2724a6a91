import { setHandler } from '@temporalio/workflow';
import type { LivePause, LiveStatus } from '../../core/run';
import { controlsQuery, evaluationsQuery, scoresQuery, statusQuery, timelineQuery } from '../contracts';
import { liveBudget } from './budget-limits';
import { openCellCount } from './early-cells';
import { shownStatus } from './training-state';
import type { RunPause, TrainingState } from './training-state';

/** Answers from the first moment on, also while the run is being prepared. */
export function answerQueries(run: string, current: { readonly state: TrainingState | null }): void {
  setHandler(statusQuery, () => liveStatus(run, current.state));
  setHandler(evaluationsQuery, () => current.state?.cells ?? []);
  setHandler(scoresQuery, () => current.state?.recentScores ?? []);
  setHandler(controlsQuery, () => current.state?.recentControls ?? []);
  setHandler(timelineQuery, () => current.state?.recentEvents ?? []);
}

function liveStatus(run: string, state: TrainingState | null): LiveStatus {
  if (!state) return { ...BEFORE_START, run };
  const { plan, position, model } = state;
  const step = Math.max(0, position.collectedThrough);
  return {
    run,
    status: shownStatus(state),
    step,
    submittedThrough: Math.max(0, position.submittedThrough),
    totalSteps: plan.totalSteps,
    epoch: Math.floor(step / plan.stepsPerEpoch),
    waitingFor: state.waitingFor,
    pendingEvaluations: openCellCount(state),
    incarnation: model?.incarnation ?? 0,
    lineage: model?.lineage ?? 0,
    rewinds: state.rewinds,
    stepsReplayed: state.stepsReplayed,
    ...(state.remarks && { remarks: state.remarks }),
    ...liveChanges(state),
  };
}

function liveChanges(state: TrainingState): Partial<LiveStatus> {
  const { stop, pause, best, budget } = state;
  return {
    stopAt: stop?.step ?? null,
    ...(pause && { pause: livePause(pause), isLetGo: state.model === null }),
    ...(best && { best }),
    ...(budget && { budget: liveBudget(state, budget) }),
  };
}

function livePause({ step, then, since, seconds, by, reason, isHandOver }: RunPause): LivePause {
  const until = since !== null && seconds !== null ? new Date(since + seconds * 1000).toISOString() : null;
  return {
    ...{ step, then, since: since === null ? null : new Date(since).toISOString(), until, by, reason },
    ...(isHandOver && { isHandOver }),
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
