import { withChange } from '../../core/controls/changes-by-step';
import { MAX_RATE_CHANGES, peakAt } from '../../core/controls/learning-rate';
import type { GateAction } from '../../core/gates/gate';
import type { ResolvedChange } from './changes';
import type { TrainingState } from './training-state';
import { lastStepOf } from './training-state';

interface GatedStep {
  readonly state: TrainingState;
  readonly step: number;
  readonly reason: string;
  /** Peak learning rate of the config. */
  readonly initial: number;
}

/**
 * What a gate does where a checkpoint does not pass; null where it would change nothing any more.
 *
 * Training waits for the gate at its step, so the next one is the first that can be changed, whatever died meanwhile.
 */
export function gateAction(action: GateAction, gated: GatedStep): ResolvedChange | null {
  const { state, step } = gated;
  if (action === 'hold' || step >= lastStepOf(state)) return null;
  if (action === 'stop') return stopAfter(gated);
  return action === 'pause' ? pauseAt(gated) : slowDown(gated, action.learningRate);
}

/** One more step is trained, as the last one: it is saved and evaluated as such. */
function stopAfter({ state, step, reason }: GatedStep): ResolvedChange | null {
  const from = lastStepOf(state);
  const to = nextStep(state, step);
  if (to >= from) return null;
  return {
    row: { control: 'stop', step: to, from, to },
    apply: () => {
      state.stop = { step: to, reason };
    },
  };
}

function pauseAt({ state, step, reason }: GatedStep): ResolvedChange | null {
  const { pause } = state;
  const at = nextStep(state, step) - 1;
  if (at >= lastStepOf(state) || (pause && pause.step <= at)) return null;
  const next = { step: at, seconds: null, then: 'resume' as const };
  return {
    row: {
      control: 'pause',
      step: at,
      from: pause ? { step: pause.step, seconds: pause.seconds, then: pause.then } : null,
      to: next,
    },
    apply: () => {
      state.pause = { ...next, by: 'gate', reason, since: null, heldSince: null, isSaved: false };
    },
  };
}

function slowDown({ state, step, initial }: GatedStep, factor: number): ResolvedChange | null {
  const { rates = [] } = state;
  const at = nextStep(state, step);
  const from = peakAt(rates, at) ?? initial;
  const to = from * factor;
  if (to <= 0 || rates.length >= MAX_RATE_CHANGES) return null;
  return {
    row: { control: 'setLearningRate', step: at, from, to },
    apply: () => {
      state.rates = withChange(rates, { step: at, peak: to });
    },
  };
}

function nextStep({ position }: TrainingState, step: number): number {
  return Math.max(step, position.submittedThrough) + 1;
}
