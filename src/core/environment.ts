import type { CompletionStop, ToolDeclaration } from './completion';
import type { Message } from './conversation';

/** What the model is shown before it acts for the first time. */
export interface Observation {
  readonly messages: readonly Message[];
  readonly tools?: readonly ToolDeclaration[];
}

export interface ActionFacts {
  readonly stopReason: CompletionStop;
  readonly isMalformed: boolean;
  /** What the model wrote, the end token included; absent where a service gives text alone. */
  readonly tokens?: readonly number[];
  readonly signal: AbortSignal;
}

/** What came of one action of the model. */
export interface EnvironmentStep {
  readonly reward: number;
  readonly isDone: boolean;
  /** What follows the model's message in the conversation. When done, tools' answers are kept for those who read it later, and the rest is ignored. */
  readonly nextMessages: readonly Message[];
  /** Numbers that are averaged over rollouts. */
  readonly metrics?: Readonly<Record<string, number>>;
  /** What a person may want to read; not averaged. */
  readonly logs?: Readonly<Record<string, unknown>>;
  /** What was read as the model's answer, where the step judged one; null when it has none. */
  readonly answer?: string | null;
  /** Why the conversation is over, where `isDone`; default `completed`. */
  readonly stopReason?: string;
}

/**
 * The other side of a conversation, for training and evaluation alike. Used for one rollout and then closed.
 *
 * `step` is a function of the actions so far: an attempt that was interrupted repeats it with the same actions, sampled
 * before, and has to arrive at the same place. Throwing means that the environment is broken; a model that does badly is
 * a reward.
 */
export interface MessageEnvironment {
  initialObservation(): Observation | Promise<Observation>;
  step(action: Message, facts: ActionFacts): EnvironmentStep | Promise<EnvironmentStep>;
  close?(): Promise<void>;
}
