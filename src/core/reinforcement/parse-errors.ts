import { MASKED_TURN_METRIC } from './rollout';

/** What a completion that cannot be read costs, and whether the model may try again. */
export interface ParseErrorPolicy {
  /** Unreadable tool calls in a row that are answered with a correction; the next one ends the rollout. */
  readonly maxConsecutive: number;
  /** `{details}` stands for what was wrong. */
  readonly retryTemplate: string;
  /** Taken off in each turn that is answered. */
  readonly penaltyPerError: number;
  /** Reward of the turn that ends the rollout. */
  readonly terminalReward: number;
  /** Keep such turns in the rollout and out of the loss. */
  readonly maskErrorTurns: boolean;
}

export const DEFAULT_PARSE_ERRORS: ParseErrorPolicy = {
  maxConsecutive: 0,
  retryTemplate: 'The previous message had a formatting issue.\nError: {details}',
  penaltyPerError: 0,
  terminalReward: 0,
  maskErrorTurns: false,
};

/** A model may write any amount of nonsense into a tool call, and the correction quotes it. */
const MAX_DETAIL_CHARACTERS = 16_384;

export interface ParseError {
  /**
   * `structure`: the completion has no proper end, so nobody knows where the message stops and it cannot be continued.
   * `content`: a complete message with tool calls that cannot be read.
   */
  readonly kind: 'structure' | 'content';
  readonly details: string;
  /** Errors in a row, this one included; a turn that can be read sets it back to 0. */
  readonly consecutiveCount: number;
  /** True where the turn limit leaves no turn to correct it in. */
  readonly isLastTurn: boolean;
}

export interface ParseErrorOutcome {
  readonly reward: number;
  readonly metrics: Readonly<Record<string, number>>;
  /** What the model is told; null ends the rollout as `parse_error`. */
  readonly retryMessage: string | null;
}

/** tinker-cookbook, `ParseErrorPolicy`. */
export function answerParseError(policy: ParseErrorPolicy, error: ParseError): ParseErrorOutcome {
  const metrics = { parse_error: 1, ...(policy.maskErrorTurns && { [MASKED_TURN_METRIC]: 1 }) };
  const mayRetry =
    error.kind === 'content' && !error.isLastTurn && error.consecutiveCount <= policy.maxConsecutive;
  if (!mayRetry) return { reward: policy.terminalReward, metrics, retryMessage: null };
  const details = error.details.slice(0, MAX_DETAIL_CHARACTERS);
  return {
    reward: 0 - policy.penaltyPerError,
    metrics,
    retryMessage: policy.retryTemplate.replaceAll('{details}', () => details),
  };
}
