import type { ToolDeclaration } from '../../core/completion';
import type { Message } from '../../core/conversation';
import type { RolloutProgress } from '../../core/reinforcement/limits';
import {
  budgetStop,
  endRollout,
  overflowsContext,
  stopBeforeTurn,
  turnBudget,
} from '../../core/reinforcement/limits';
import { answerParseError } from '../../core/reinforcement/parse-errors';
import type { Rollout, Transition } from '../../core/reinforcement/rollout';
import { shouldGrade } from '../../core/reinforcement/termination';
import type {
  PlayedRollout,
  RolloutGrade,
  TokenPrompt,
  TrainingEnvironment,
  TrainingStep,
} from '../environments/environment-dataset';
import { boundedWork } from './bounded-work';
import { EnvironmentCalls } from './environment-calls';
import type { SampledTurn } from './prompt-tokens';
import { isBeyondContext, keptMessages, nextPromptTokens } from './prompt-tokens';
import type { ReplyProblem } from './reply-problem';
import { hasCalls, problemOf } from './reply-problem';
import { rendering } from './rollout-failure';
import type { RolloutOptions, RolloutSite } from './rollout-site';
import { CONTEXT_OVERFLOW_REWARD, ENVIRONMENT_TIMEOUT_SECONDS, graderTimeoutOf } from './rollout-site';
import type { TurnOutcome } from './rollout-turns';
import { outcomeOf, transitionOf } from './rollout-turns';
import type { SampledAction } from './sample-action';
import { sampleAction } from './sample-action';
import { nextTokenPrompt, shownPrompt } from './token-prompts';

export interface RolloutTask {
  readonly environment: TrainingEnvironment;
  readonly member: number;
  readonly policyVersion: number;
  readonly seedOf: (turn: number) => number;
}

/** Why a rollout is over; `isEarly` where its environment did not say so. */
interface Ending {
  readonly reason: string;
  readonly isEarly: boolean;
}

class RolloutDeadline extends Error {}

/** The most turns of an environment that never ends and a run that sets no limit. */
const MOST_TURNS = 200;

/**
 * Plays one environment to its end with the policy. Throws a `RolloutFailure` where the rollout came to nothing, and
 * what is not the rollout's own fault, such as a lost service, as it is.
 */
export async function playRollout(
  site: RolloutSite,
  task: RolloutTask,
  options: RolloutOptions,
): Promise<PlayedRollout> {
  const play = new RolloutPlay(site, task, options);
  try {
    return await play.run();
  } finally {
    await play.close();
  }
}

class RolloutPlay {
  private readonly environment: EnvironmentCalls;
  private readonly startedAt: number;
  private readonly transitions: Transition[] = [];
  private readonly messages: Message[] = [];
  /** Messages before the conversation, which declare tools. */
  private declared: readonly Message[] = [];
  private tools: readonly ToolDeclaration[] = [];
  /** In an environment of tokens. */
  private given: TokenPrompt | null = null;
  private promptLength = 0;
  private sampledTokenCount = 0;
  private parseErrorCount = 0;
  private lastTurn: SampledTurn | null = null;
  private overflowReward: number | null = null;

  constructor(
    private readonly site: RolloutSite,
    private readonly task: RolloutTask,
    private readonly options: RolloutOptions,
  ) {
    const seconds = site.environmentTimeoutSeconds ?? ENVIRONMENT_TIMEOUT_SECONDS;
    this.environment = new EnvironmentCalls(task.environment, seconds);
    this.startedAt = site.now();
  }

  async run(): Promise<PlayedRollout> {
    const { reason, isEarly } = await this.playToEnd();
    const stopReason = this.environment.nameStop(reason);
    const grade = isEarly ? await this.gradeEarlyEnd(stopReason) : null;
    const ended = endRollout(this.transitions, stopReason, this.task.policyVersion);
    return {
      rollout: this.withGrade(ended, grade),
      messages: [...keptMessages(this.messages, this.site.contextLength)],
    };
  }

  close(): Promise<void> {
    return this.environment.close();
  }

  /** Turns that were done by the deadline are kept; the one under way is lost. */
  private async playToEnd(): Promise<Ending> {
    const { timeoutSeconds } = this.site.limits;
    try {
      return await boundedWork((signal) => this.takeTurns(signal), {
        signal: this.options.signal,
        timeoutMs: timeoutSeconds === null ? null : timeoutSeconds * 1000,
        late: () => new RolloutDeadline(),
      });
    } catch (error) {
      if (error instanceof RolloutDeadline) return { reason: 'rollout_timeout', isEarly: true };
      throw error;
    }
  }

  private async takeTurns(signal: AbortSignal): Promise<Ending> {
    await this.begin(signal);
    for (let turn = 0; turn < MOST_TURNS; turn++) {
      const ending = await this.takeTurn(turn, signal);
      if (ending !== null) return ending;
    }
    return early('max_turns');
  }

  private async begin(signal: AbortSignal): Promise<void> {
    const { messages, tools = [], prompt = null } = await this.environment.observe(signal);
    if (prompt !== null) {
      this.beginWith(prompt, messages);
      return;
    }
    this.tools = tools;
    const [first] = messages;
    const system = first?.role === 'system' && typeof first.content === 'string' ? first.content : null;
    if (tools.length > 0) {
      this.declared = rendering(() => this.site.renderer.declareTools(tools, system ?? ''));
    }
    const isInDeclaration = tools.length > 0 && system !== null;
    this.append(isInDeclaration ? messages.slice(1) : messages);
    this.promptLength = this.messages.length;
  }

  /** One by one: an environment may give more than a call takes arguments. */
  private append(messages: readonly Message[]): void {
    for (const message of messages) this.messages.push(message);
  }

  private beginWith(prompt: TokenPrompt, messages: readonly Message[]): void {
    this.given = prompt;
    this.append(messages.length > 0 ? messages : shownPrompt(prompt, [], this.site.tokenizer));
    this.promptLength = this.messages.length;
  }

  private async takeTurn(turn: number, signal: AbortSignal): Promise<Ending | null> {
    const { limits, contextLength } = this.site;
    const before = stopBeforeTurn(limits, this.progress(turn, 0));
    if (before !== null) return early(before);
    const prompt = await this.nextPrompt(turn, signal);
    const room = { observationTokenCount: prompt?.length ?? 0, reservedTokenCount: 1 };
    if (prompt === null || overflowsContext({ maxRolloutTokens: contextLength }, room))
      return this.overflow();
    const progress = this.progress(turn, prompt.length);
    const stop = budgetStop(limits, progress);
    if (stop !== null) return early(stop);
    const maxTokens = Math.min(turnBudget(limits, progress) ?? Infinity, contextLength - prompt.length);
    const seed = this.task.seedOf(turn);
    const request = { prompt, maxTokens, seed, stop: this.given?.stop, tools: this.tools };
    const action = await sampleAction(this.site, request, signal);
    this.sampledTokenCount += action.tokens.length;
    const ending = await this.actUpon(action, turn, signal);
    this.reportTurn(turn);
    return ending;
  }

  private async actUpon(action: SampledAction, turn: number, signal: AbortSignal): Promise<Ending | null> {
    const isCut = action.stopReason === 'length';
    if (isCut && !this.environment.judgesCutReplies) {
      this.record(action, { reward: 0, isDone: true, metrics: { max_tokens_reached: 1 } });
      return early('max_tokens');
    }
    // What ends a completion, and what it says, is for an environment of tokens to tell.
    const problem = isCut || this.given !== null ? null : problemOf(action);
    const isPolicys = problem !== null && this.site.parseErrors != null && !hasCalls(action);
    return isPolicys ? this.answerProblem(action, problem, turn) : this.stepOn(action, problem, signal);
  }

  private async stepOn(
    action: SampledAction,
    problem: ReplyProblem | null,
    signal: AbortSignal,
  ): Promise<Ending | null> {
    this.parseErrorCount = 0;
    const { stopReason, tokens } = action;
    const facts = { stopReason, isMalformed: problem !== null, tokens, signal };
    const step = await this.environment.step(action.reply.message, facts);
    const outcome = outcomeOf(step, problem?.kind === 'content');
    this.record(action, outcome, step.isDone ? [] : this.nextMessages(action, step));
    return step.isDone ? { reason: step.stopReason ?? 'completed', isEarly: false } : null;
  }

  private answerProblem(action: SampledAction, problem: ReplyProblem, turn: number): Ending | null {
    const { parseErrors, limits } = this.site;
    if (!parseErrors) return null;
    this.parseErrorCount += 1;
    const { reward, metrics, retryMessage } = answerParseError(parseErrors, {
      ...problem,
      consecutiveCount: this.parseErrorCount,
      isLastTurn: limits.maxTurns !== null && turn + 1 >= limits.maxTurns,
    });
    const next = retryMessage === null ? [] : [{ role: 'user', content: retryMessage }];
    this.record(action, { reward, isDone: retryMessage === null, metrics }, next);
    return retryMessage === null ? early('parse_error') : null;
  }

  private record(action: SampledAction, outcome: TurnOutcome, nextMessages: readonly Message[] = []): void {
    this.transitions.push(transitionOf(action, outcome, this.task.policyVersion));
    this.messages.push(action.reply.message);
    this.lastTurn = {
      tokens: [...action.prompt, ...action.tokens],
      messages: [...this.declared, ...this.messages],
      isEnded: action.reply.termination === 'stop_sequence',
    };
    this.append(nextMessages);
  }

  private nextMessages(action: SampledAction, step: TrainingStep): readonly Message[] {
    const { nextMessages } = step;
    this.given = nextTokenPrompt(this.given, step);
    if (this.given === null || nextMessages.length > 0) return nextMessages;
    return shownPrompt(this.given, [...action.prompt, ...action.tokens], this.site.tokenizer);
  }

  /** null where it cannot have room. */
  private async nextPrompt(turn: number, signal: AbortSignal): Promise<readonly number[] | null> {
    if (this.given !== null) return this.given.tokens;
    this.append(await this.environment.beforeTurn({ turn, messages: this.messages }, signal));
    const conversation = [...this.declared, ...this.messages];
    if (isBeyondContext(conversation, this.site.contextLength)) return null;
    return rendering(() => nextPromptTokens(this.site.renderer, conversation, this.lastTurn));
  }

  private progress(turnCount: number, observationTokenCount: number): RolloutProgress {
    const elapsedSeconds = (this.site.now() - this.startedAt) / 1000;
    return { turnCount, observationTokenCount, sampledTokenCount: this.sampledTokenCount, elapsedSeconds };
  }

  private overflow(): Ending {
    this.overflowReward = this.site.contextOverflowReward ?? CONTEXT_OVERFLOW_REWARD;
    return early('context_overflow');
  }

  private reportTurn(turn: number): void {
    const { member } = this.task;
    this.options.onTurn?.({ member, turn, sampledTokenCount: this.sampledTokenCount });
  }

  private async gradeEarlyEnd(stopReason: string): Promise<RolloutGrade | null> {
    const { termination } = this.site;
    if (termination && !shouldGrade(stopReason, termination)) return null;
    const { signal } = this.options;
    const messages = termination?.passAllMessagesToGrader
      ? this.messages
      : this.messages.slice(this.promptLength);
    const end = { stopReason, messages: [...messages], signal };
    return this.environment.gradeEarlyEnd(end, graderTimeoutOf(this.site));
  }

  private withGrade(rollout: Rollout, grade: RolloutGrade | null): Rollout {
    const { overflowReward } = this;
    return {
      ...rollout,
      finalReward: (grade?.reward ?? 0) + (overflowReward ?? 0),
      metrics: { ...grade?.metrics, ...(overflowReward !== null && { context_overflow: 1 }) },
    };
  }
}

function early(reason: string): Ending {
  return { reason, isEarly: true };
}
