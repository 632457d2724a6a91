import type { ControlBounds, ControlRequest, ControlRow, StopRequest } from '../../core/controls';
import { refused, resolveFirstStep, resolveStop } from '../../core/controls';
import type { BudgetRequest } from '../../core/controls/budget';
import { NO_BUDGET, resolveBudget } from '../../core/controls/budget';
import { withChange } from '../../core/controls/changes-by-step';
import type { EvaluationRequest } from '../../core/controls/evaluation-request';
import { MAX_WAITING_REQUESTS, resolveEvaluators } from '../../core/controls/evaluation-request';
import type { LearningRateRequest } from '../../core/controls/learning-rate';
import { resolveLearningRate } from '../../core/controls/learning-rate';
import type { PauseRequest } from '../../core/controls/pause';
import { resolvePause } from '../../core/controls/pause';
import type { ScheduleRequest } from '../../core/controls/schedule-change';
import { evaluatorsOf, resolveSchedule, shownSchedule } from '../../core/controls/schedule-change';
import { sentForBudget, usedUpLimit } from './budget-limits';
import type { RequestedSnapshot, RunPause, TrainingState } from './training-state';
import { isPaused, lastStepOf, sentThroughOf } from './training-state';

/** What a change comes to, and how it is made. Until then nothing is changed. */
export interface ResolvedChange {
  readonly row: Pick<ControlRow, 'control' | 'step' | 'from' | 'to'>;
  readonly apply: () => void;
}

/** Throws a DomainError to refuse. */
export type Resolve<Request> = (request: Request, state: TrainingState) => ResolvedChange;

/** A stop as early as possible ends a pause; one at a later step leaves the run paused until somebody resumes it. */
export const stopChange: Resolve<StopRequest> = (request, state) => {
  const from = lastStepOf(state);
  const step = resolveStop(request, boundsOf(state));
  return {
    row: { control: 'stop', step, from, to: step },
    apply: () => {
      state.stop = step < state.plan.totalSteps ? { step, reason: request.reason } : null;
      if (request.atStep === null) state.pause = null;
    },
  };
};

export const pauseChange: Resolve<PauseRequest> = (request, state) => {
  const { pause } = state;
  const begun = pause && isPaused(state) ? pause : null;
  if (begun && request.atStep !== null && request.atStep !== begun.step) {
    throw refused(
      `It is paused already, after step ${begun.step}. Resume it before pausing at another step.`,
    );
  }
  const step = begun ? begun.step : resolvePause(request, boundsOf(state));
  return pausedAt(step, request, state);
};

/** What is under way is finished. Steps that an earlier life sent as well are none of it: they cost again. */
export const budgetPause: Resolve<PauseRequest> = (request, state) =>
  isPaused(state) ? pauseChange(request, state) : pausedAt(sentForBudget(state), request, state);

/** A run that stands still stays so; another one rests for as long as those who do the work need to go, and then goes on. */
export const handOverChange: Resolve<ControlRequest> = (request, state) => {
  const { pause } = state;
  const isStanding = pause && isPaused(state);
  const step = isStanding ? pause.step : resolvePause({ ...request, ...HAND_OVER }, boundsOf(state));
  const next: RunPause = isStanding
    ? { ...pause, isHandOver: true }
    : {
        ...pauseAt(step, { ...request, ...HAND_OVER }, null),
        isHandOver: true,
        ...(pause && { after: pause }),
      };
  return {
    row: { control: 'handOver', step, from: pause ? shownPause(pause) : null, to: shownPause(next) },
    apply: () => {
      state.pause = next;
    },
  };
};

/** The way out of a stack takes a few seconds; what nobody takes over within this goes on where it is. */
const HAND_OVER = { atStep: null, seconds: 20, then: 'resume' } as const;

function pausedAt(step: number, request: PauseRequest, state: TrainingState): ResolvedChange {
  const { pause } = state;
  const begun = pause && isPaused(state) ? pause : null;
  const next = pauseAt(step, request, begun);
  return {
    row: { control: 'pause', step, from: pause ? shownPause(pause) : null, to: shownPause(next) },
    apply: () => {
      state.pause = next;
    },
  };
}

/** A pause that has begun gets a new end; one that has not been noted yet begins when it is. */
function pauseAt(
  step: number,
  { by, reason, seconds, then }: PauseRequest,
  begun: RunPause | null,
): RunPause {
  const { since, heldSince, isSaved } = begun ?? { since: null, heldSince: null, isSaved: false };
  return {
    ...{ step, seconds, then, by, reason, heldSince, isSaved },
    since: since === null ? null : Date.now(),
  };
}

function shownPause({ step, seconds, then }: RunPause): Pick<RunPause, 'step' | 'seconds' | 'then'> {
  return { step, seconds, then };
}

export const resumeChange: Resolve<ControlRequest> = (_request, state) => {
  const { pause } = state;
  if (!pause) throw refused('It is not paused, and nobody asked for a pause.');
  const usedUp = usedUpLimit(state);
  if (usedUp !== null) throw refused(`It cannot go on: ${usedUp}. Raise the budget first.`);
  const isStanding = isPaused(state);
  // Where it stands is behind what was sent before it went back to a checkpoint.
  const trained = isStanding ? state.position.collectedThrough : sentThroughOf(state);
  const step = Math.max(1, trained + 1);
  return {
    row: { control: 'resume', step, from: isStanding ? 'paused' : 'running', to: 'running' },
    apply: () => {
      state.pause = null;
    },
  };
};

/** `initial`: the config's peak. */
export function learningRateChange(initial: number): Resolve<LearningRateRequest> {
  return (request, state) => {
    const { rates = [] } = state;
    const { step, from, to } = resolveLearningRate(request, { ...boundsOf(state), rates, initial });
    return {
      row: { control: 'setLearningRate', step, from, to },
      apply: () => {
        state.rates = withChange(rates, { step, peak: to });
      },
    };
  };
}

export const scheduleChange: Resolve<ScheduleRequest> = (request, state) => {
  const { scheduleChanges: changes = [], plan } = state;
  const situation = { ...boundsOf(state), initial: plan.evaluations, changes };
  const { step, from, to, evaluations } = resolveSchedule(request, situation);
  return {
    row: { control: 'setEvalSchedule', step, from: shownSchedule(from), to: shownSchedule(to) },
    apply: () => {
      state.scheduleChanges = withChange(changes, { step, evaluations });
      Reflect.deleteProperty(state.timedDueAt, request.schedule);
    },
  };
};

export const budgetChange: Resolve<BudgetRequest> = (request, state) => {
  const from = state.budget ?? NO_BUDGET;
  const to = resolveBudget(request, from, state.plan.isFree);
  const step = resolveFirstStep({ ...request, atStep: null }, boundsOf(state));
  return {
    row: { control: 'setBudget', step, from, to },
    apply: () => {
      state.budget = to;
      state.budgetWarnings = [];
      if (state.rollouts) delete state.rollouts.isOverBudget;
    },
  };
};

/** What is measured where nobody names a checkpoint: the step the run stands at, else the next one. */
export const evaluationOfNow: Resolve<EvaluationRequest> = (request, state) => {
  const step = isPaused(state)
    ? state.position.collectedThrough
    : resolveFirstStep({ ...request, atStep: null }, boundsOf(state));
  return requestedChange(request, state, { step, snapshot: null });
};

export function evaluationOf(step: number, snapshot: RequestedSnapshot): Resolve<EvaluationRequest> {
  return (request, state) => requestedChange(request, state, { step, snapshot });
}

function requestedChange(
  request: EvaluationRequest,
  state: TrainingState,
  target: { readonly step: number; readonly snapshot: RequestedSnapshot | null },
): ResolvedChange {
  const evaluators = knownEvaluators(request, state);
  const { requests = [], requestCount = 0 } = state;
  if (requests.length >= MAX_WAITING_REQUESTS) {
    throw refused(`${MAX_WAITING_REQUESTS} evaluations wait to begin already. Ask again later.`);
  }
  return {
    row: { control: 'runEvaluation', step: target.step, from: null, to: evaluators },
    apply: () => {
      state.requestCount = requestCount + 1;
      state.requests = [...requests, { ...target, evaluators, request: requestCount + 1 }];
    },
  };
}

export function knownEvaluators({ evaluators }: EvaluationRequest, { plan }: TrainingState): string[] {
  return resolveEvaluators(evaluators, evaluatorsOf(plan.evaluations));
}

/** Steps a change can still reach. */
function boundsOf(state: TrainingState): ControlBounds {
  return {
    sentThrough: sentThroughOf(state),
    lastStep: lastStepOf(state),
    totalSteps: state.plan.totalSteps,
  };
}
