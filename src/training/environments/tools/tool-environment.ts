import type { Message } from '../../../core/conversation';
import { DomainError } from '../../../core/errors';
import type { ActionFacts } from '../../../core/environment';
import type {
  EnvironmentBounds,
  RolloutGrade,
  TrainingEnvironment,
  TrainingStep,
} from '../environment-dataset';
import type { Tool } from './tool';
import { ToolCalls } from './tool-calls';

export interface ToolGrade extends RolloutGrade {
  readonly answer?: string | null;
}

export interface ToolProblem {
  readonly messages: readonly Message[];
  readonly tools: readonly Tool[];
  /**
   * Judges the conversation after the prompt, once, when it is over. Its last message is the model's answer where
   * `stopReason` is `completed`; where a limit or a tool ended it, it is what a tool answered.
   */
  readonly grade: (
    conversation: readonly Message[],
    context: { readonly stopReason: string; readonly signal: AbortSignal },
  ) => ToolGrade | Promise<ToolGrade>;
  /** Replies of the model. Default 5, the field's. */
  readonly maxTurns?: number;
  /** Reward of a reply without a proper end, or whose calls cannot be read. Default −0.1, the field's. */
  readonly failedParseReward?: number;
}

const MAX_TURNS = 5;
const FAILED_PARSE_REWARD = -0.1;

/**
 * A conversation in which the model calls tools until it answers without calling one.
 *
 * Calls of one reply are made at once, unless the run says in sequence. Where some calls of a reply can be read, those are
 * made. The rollout is graded once: at the answer, when a tool ends it, or when a limit does.
 */
export function createToolEnvironment(problem: ToolProblem, bounds?: EnvironmentBounds): TrainingEnvironment {
  const { messages, tools, grade, maxTurns = MAX_TURNS, failedParseReward = FAILED_PARSE_REWARD } = problem;
  requireTools(tools);
  const calls = new ToolCalls(tools, bounds);
  const conversation: Message[] = [];
  let turnCount = 0;

  const end = async (stopReason: string, signal: AbortSignal): Promise<TrainingStep> => {
    const { reward, metrics, answer } = await grade(conversation, { stopReason, signal });
    return {
      reward,
      isDone: true,
      nextMessages: [],
      stopReason,
      ...(metrics && { metrics }),
      ...(answer !== undefined && { answer }),
    };
  };

  /** What it said before is measured, as where a limit ends a rollout, so that it counts among those that answered. */
  const unreadable = async (signal: AbortSignal): Promise<TrainingStep> => {
    const step = await end('parse_error', signal);
    return { ...step, reward: failedParseReward, metrics: { ...step.metrics, parse_error: 1 } };
  };

  const takeTurn = async (action: Message, { signal }: ActionFacts): Promise<TrainingStep> => {
    const { toolCalls = [] } = action;
    if (toolCalls.length === 0) return end('completed', signal);
    const turn = await calls.make(toolCalls, signal);
    conversation.push(...turn.messages);
    const stopReason = stopOf(turn, turnCount >= maxTurns);
    if (stopReason === null) {
      return { reward: 0, isDone: false, nextMessages: turn.messages, metrics: turn.metrics };
    }
    const step = await end(stopReason, signal);
    // The model reads them no more, but they are what it was graded by.
    return { ...step, nextMessages: turn.messages, metrics: { ...turn.metrics, ...step.metrics } };
  };

  return {
    initialObservation: () => ({ messages, tools: tools.map(({ declaration }) => declaration) }),
    async step(action, facts) {
      // What was cut off may quote the answer on its way to another.
      if (facts.stopReason === 'length') return CUT_OFF;
      turnCount += 1;
      if (facts.isMalformed && (action.toolCalls?.length ?? 0) === 0) return unreadable(facts.signal);
      conversation.push(action);
      return takeTurn(action, facts);
    },
    gradeEarlyEnd: ({ stopReason, signal }) => grade(conversation, { stopReason, signal }),
  };
}

/** A declaration alone answers no call. */
function requireTools(tools: readonly (Partial<Tool> | null)[]): void {
  const index = tools.findIndex((tool) => typeof tool?.call !== 'function' || tool.declaration === undefined);
  if (index === -1) return;
  throw new DomainError(
    'bad-plugin',
    `createToolEnvironment: tools[${index}] answers no calls. Make it with defineTool({ name, description, parameters, run }).`,
  );
}

const CUT_OFF: TrainingStep = { reward: 0, isDone: true, nextMessages: [], stopReason: 'max_tokens' };

function stopOf(
  turn: { readonly shouldStop: boolean; readonly isOverLimit: boolean },
  isLastTurn: boolean,
): string | null {
  if (turn.shouldStop) return 'tool_stopped';
  if (turn.isOverLimit) return 'max_tool_calls';
  return isLastTurn ? 'max_turns' : null;
}
