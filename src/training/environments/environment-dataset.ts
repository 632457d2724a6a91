import type { JudgeSource } from '../../core/benchmark-run';
import type { TellWaiting } from '../../core/concurrency/waiting-reasons';
import type { ToolDeclaration } from '../../core/completion';
import type { ActionFacts, EnvironmentStep, MessageEnvironment, Observation } from '../../core/environment';
import type { Message } from '../../core/conversation';
import type { RolloutRules } from '../../core/reinforcement/rollout-presets';
import type { Rollout } from '../../core/reinforcement/rollout';
import type { Tokenizer } from '../../core/tokenizer';
import type { RowPlace } from '../../datasets/row-place';
import type { Grader } from '../../evaluation/graders/grader';
import type { GroupOrder } from './group-order';

/** What the model reads next as tokens, all of them, in place of what its prompt format writes of a conversation. */
export interface TokenPrompt {
  readonly tokens: readonly number[];
  /** Tokens or texts that end the completion; default: what ends a message. */
  readonly stop?: readonly number[] | readonly string[];
}

/** What the model is shown first; an environment of tokens gives `prompt` and may leave `messages` empty. */
export interface TrainingObservation extends Observation {
  readonly prompt?: TokenPrompt;
}

/** What came of one action. */
export interface TrainingStep extends EnvironmentStep {
  /** In an environment of tokens, with every step that does not end the rollout. */
  readonly nextPrompt?: TokenPrompt;
}

/** A rollout that a limit ended before its environment did. */
export interface EarlyEnd {
  readonly stopReason: string;
  /** What the grader may see: everything, or only what followed the prompt. */
  readonly messages: readonly Message[];
  readonly signal: AbortSignal;
}

export interface RolloutGrade {
  readonly reward: number;
  readonly metrics?: Readonly<Record<string, number>>;
}

/** Where a rollout stands before a turn. */
export interface TurnStart {
  readonly turn: number;
  readonly messages: readonly Message[];
}

/**
 * An environment as rollouts play it: any `MessageEnvironment`, with hooks that it may have.
 *
 * Whatever it throws, however long it takes and whatever it returns costs its own rollout only. Code that never gives the
 * event loop back cannot be called off.
 */
export interface TrainingEnvironment extends MessageEnvironment {
  initialObservation(): TrainingObservation | Promise<TrainingObservation>;
  step(action: Message, facts: ActionFacts): TrainingStep | Promise<TrainingStep>;
  /** Steps also on replies that were cut off at their token limit. Without it such a reply ends the rollout with reward 0. */
  readonly judgesCutReplies?: boolean;
  /** `step` bounds its time itself: it may wait for a place to judge in, which is not the rollout's time. */
  readonly boundsItself?: true;
  /** Messages to put in before the model speaks, e.g. a warning that few turns are left. Not in an environment of tokens. */
  beforeTurn?(start: TurnStart): readonly Message[] | Promise<readonly Message[]>;
  /** Judges a rollout that ended otherwise than by `step`. Without it such a rollout has the rewards of its turns. */
  gradeEarlyEnd?(end: EarlyEnd): RolloutGrade | Promise<RolloutGrade>;
  /** Another name for why the rollout ended, for metrics and the limits of the termination policy. */
  nameStop?(stopReason: string): string;
}

/** What of a run's rules an environment with tools has to know. */
export type EnvironmentBounds = Pick<RolloutRules, 'toolExecution'> & {
  readonly maxToolCalls: number | null;
  /** What is one for all rollouts of one piece of work, so that they can share what they ask of others. */
  readonly work?: object;
  /** Fires when the rollout is called off. */
  readonly signal?: AbortSignal;
  /** To be told what keeps its piece of work waiting; null when it goes on. */
  readonly onWaiting?: TellWaiting;
  /** Opens a grader that asks judges; absent where there is no way to any. */
  readonly askJudges?: AskJudges;
  /** The model's, for environments of tokens. */
  readonly tokenizer?: Tokenizer;
};

/** A grader as these judges make it. What they say is kept with the group. */
export type AskJudges = (grader: Grader, judges: readonly JudgeSource[]) => Grader;

/** A rollout and the conversation that it was, tool declarations left out. */
export interface PlayedRollout {
  readonly rollout: Rollout;
  readonly messages: readonly Message[];
}

/** Environments of one problem, played once for each member of a group. */
export interface EnvironmentGroup {
  /** Derived from the content: the same problem has the same id in every run. */
  readonly id: string;
  /** Names that metrics are split by. */
  readonly tags: readonly string[];
  /** Where its row was read, where it has one in a file. */
  readonly place?: RowPlace;
  /** What its prompt declares, where that is known before it is played. */
  readonly tools?: readonly ToolDeclaration[];
  /** It may declare tools that its environment alone knows, once it is opened. */
  readonly hasHiddenTools?: true;
  /** Models judge it: what is drawn for it and what they say is kept as it comes. */
  readonly isJudged?: true;
  /** A new environment at every call; one is played once. */
  make(member: number, bounds?: EnvironmentBounds): TrainingEnvironment;
  /** Judges the rollouts of a group together, e.g. against each other: one grade a rollout, on top of its turns' rewards. */
  rewards?(
    played: readonly PlayedRollout[],
    options: { readonly signal: AbortSignal },
  ): readonly RolloutGrade[] | Promise<readonly RolloutGrade[]>;
}

/** Problems to train on. Reading one twice gives the same. */
export interface EnvironmentDataset {
  readonly name: string;
  readonly length: number;
  groupAt(index: number): EnvironmentGroup;
  /** Index of each group of a run, where it is not a shuffle a pass. */
  orderOf?(seed: number): GroupOrder;
  /** Models that give rewards. */
  readonly judges?: readonly JudgeSource[];
  /** Problems kept apart from training. */
  readonly test: EnvironmentDataset | null;
  /** Rows that hold no problem to train on. */
  readonly leftOut?: readonly LeftOutRow[];
}

export interface LeftOutRow {
  readonly place: RowPlace;
  readonly reason: string;
  /** Looked at all the same, where rows are only shown: no run begins with it. */
  readonly stopsRun?: true;
  /** Bad rows behind it that are not listed. */
  readonly others?: number;
}
