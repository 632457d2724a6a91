import type { TellWaiting } from '../../core/concurrency/waiting-reasons';
import type { RolloutLimits } from '../../core/reinforcement/limits';
import type { GroupTolerance } from '../../core/reinforcement/group-tolerance';
import type { RolloutRules } from '../../core/reinforcement/rollout-presets';
import type { Sampler } from '../../core/sampling';
import type { Tokenizer } from '../../core/tokenizer';
import type { Renderer } from '../../renderers/renderer';

/** What rollouts of a run have in common: the policy, its prompt format, and the rules. */
export interface RolloutSite {
  readonly sampler: Sampler;
  readonly renderer: Renderer;
  /** For environments of tokens, and for showing people what these prompt. */
  readonly tokenizer?: Tokenizer;
  /** Tokens the model reads and writes together. */
  readonly contextLength: number;
  readonly limits: RolloutLimits;
  /** What failed rollouts do to their group. */
  readonly strategy: GroupTolerance;
  /** 1 samples what the log-probabilities are of; 0 is greedy. */
  readonly temperature: number;
  /** Milliseconds. */
  readonly now: () => number;
  /** Told what keeps environments waiting; null when they go on. */
  readonly onWaiting?: TellWaiting;
  /** Default: unreadable completions are left to the environment. */
  readonly parseErrors?: RolloutRules['parseErrors'];
  /** Default: rewards stay as graded. */
  readonly termination?: RolloutRules['termination'];
  /** Default: parallel. */
  readonly toolExecution?: RolloutRules['toolExecution'];
  /** Added where a conversation leaves no room for a turn. Default −0.1, the field's. */
  readonly contextOverflowReward?: number;
  /**
   * Scores what was drawn once more, as a prompt, and takes these log-probabilities: for a service whose sampler gives
   * none, or ones that its trainer would not. Default false.
   */
  readonly computeLogprobs?: boolean;
  /** Longest wait for an environment's answer; then its rollout has failed. Default 300. */
  readonly environmentTimeoutSeconds?: number;
  /** Longest wait for a grader; default the termination policy's, else the environment's. */
  readonly graderTimeoutSeconds?: number;
}

export const CONTEXT_OVERFLOW_REWARD = -0.1;
export const ENVIRONMENT_TIMEOUT_SECONDS = 300;

/** null where it is the environment's. */
export function graderTimeoutOf({
  graderTimeoutSeconds,
  termination,
}: Pick<RolloutSite, 'graderTimeoutSeconds' | 'termination'>): number | null {
  return graderTimeoutSeconds ?? termination?.graderTimeoutSeconds ?? null;
}

/** Reported after each turn, so that an activity can heartbeat. */
interface TurnProgress {
  readonly member: number;
  readonly turn: number;
  readonly sampledTokenCount: number;
}

export interface RolloutOptions {
  readonly signal: AbortSignal;
  readonly onTurn?: (progress: TurnProgress) => void;
}
