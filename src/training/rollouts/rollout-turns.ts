import type { Transition } from '../../core/reinforcement/rollout';
import type { TrainingStep } from '../environments/environment-dataset';
import type { SampledAction } from './sample-action';

/** Of one log of a turn. */
const MOST_CHARACTERS = 1_000_000;

/** What came of a turn, whoever decided it. */
export interface TurnOutcome {
  readonly reward: number;
  readonly isDone: boolean;
  readonly metrics: Readonly<Record<string, number>>;
  readonly logs?: Transition['logs'];
}

export function transitionOf(action: SampledAction, outcome: TurnOutcome, policyVersion: number): Transition {
  const { reward, isDone, metrics, logs = {} } = outcome;
  return {
    observationTokens: action.prompt,
    actionTokens: action.tokens,
    logprobs: action.logprobs,
    reward,
    isDone,
    metrics,
    logs,
    stopReason: action.stopReason,
    policyVersion,
  };
}

/** `hasUnreadableCall`: some calls of the turn were made, others could not be read. */
export function outcomeOf(step: TrainingStep, hasUnreadableCall: boolean): TurnOutcome {
  const { reward, isDone, metrics = {}, logs = {}, answer } = step;
  return {
    reward,
    isDone,
    metrics: { ...metrics, ...(hasUnreadableCall && { parse_error: 1 }) },
    logs: { ...plainLogs(logs), ...(typeof answer === 'string' && { answer }) },
  };
}

function plainLogs(logs: Readonly<Record<string, unknown>>): Transition['logs'] {
  return Object.fromEntries(
    Object.entries(logs).flatMap(([key, value]) => {
      const text = typeof value === 'number' && Number.isFinite(value) ? value : textOf(value);
      return text === undefined ? [] : [[key, text]];
    }),
  );
}

/** Logs are for people: what has no JSON is left out, and what nobody reads to its end. */
function textOf(value: unknown): string | undefined {
  const text = typeof value === 'string' ? value : jsonOf(value);
  if (text === undefined || text.length <= MOST_CHARACTERS) return text;
  return `${text.slice(0, MOST_CHARACTERS)}… and ${text.length - MOST_CHARACTERS} characters more, which are not kept`;
}

function jsonOf(value: unknown): string | undefined {
  try {
    return JSON.stringify(value);
  } catch {
    return undefined;
  }
}
