import type { ContinuedRun, DueEvaluation } from '../../core/continued-run';
import { schedulesAt } from '../../core/controls/schedule-change';
import { cellsOf, scheduledEvaluation } from './evaluation-children';
import type { PendingEvaluation, TrainingState } from './training-state';
import { initialState } from './training-state';

/** What a run remembers that goes on from its folder: as after a rewind, whichever workflow began it. */
export function continuedState(found: ContinuedRun): TrainingState {
  const { plan, step, tokens, lost, savers = [], writes, best, pause } = found;
  const fresh = initialState(plan, found.remarks);
  const pending = found.due.flatMap((due) => pendingOf(found, due) ?? []);
  return {
    ...fresh,
    lost,
    position: {
      ...fresh.position,
      ...{ collectedThrough: step, submittedThrough: step, tokens, tokensSubmitted: tokens },
    },
    sentThrough: found.sentThrough,
    ...{ segment: writes, scoreWrites: writes, controlWrites: writes },
    evaluatedThrough: step,
    timedSteps: timedOf(found),
    pending,
    cells: pending.flatMap((each) => cellsOf(each, schedulesOf(found, each.step), [])),
    rewinds: found.rewinds + (lost ? 1 : 0),
    stepsReplayed: found.stepsReplayed,
    ...((lost !== null || savers.length > 0) && { lives: [...(lost ? [lost.modelId] : []), ...savers] }),
    rates: [...found.rates],
    scheduleChanges: [...found.scheduleChanges],
    stop: found.stop,
    pause: pause && { ...pause, since: null, heldSince: null, isSaved: false },
    requests: [...found.asked],
    requestCount: found.askedCount,
    gates: { ...found.gates },
    ...(best && { best }),
    ...(found.budget && { budget: found.budget }),
    recentControls: [...found.recentControls],
    ...(plan.rollouts && {
      rollouts: {
        sampledThrough: 0,
        policy: null,
        retired: [],
        saveCount: writes,
        generation: writes,
        accountWrites: writes,
      },
    }),
  };
}

/** Bound as the run before bound them: the clock asks anew only after its whole time. */
function timedOf({ timed = [] }: ContinuedRun) {
  return [...timed];
}

function schedulesOf({ plan, scheduleChanges }: ContinuedRun, step: number) {
  return schedulesAt(plan.evaluations, scheduleChanges, step);
}

function pendingOf(found: ContinuedRun, due: DueEvaluation): PendingEvaluation | null {
  const asking = schedulesOf(found, due.step).filter(({ name }) => due.schedules.includes(name));
  const pending = scheduledEvaluation(found.plan.run, due, asking);
  const { lineage, recorded } = due;
  return pending && { ...pending, lineage, ...(recorded && { recorded }) };
}
