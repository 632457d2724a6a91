import type { Message } from '../../core/conversation';
import type { ActionFacts } from '../../core/environment';
import type {
  EarlyEnd,
  RolloutGrade,
  TrainingEnvironment,
  TrainingObservation,
  TrainingStep,
  TurnStart,
} from '../environments/environment-dataset';
import { askableError } from '../../evaluation/error-message';
import { EnvironmentAway } from '../environments/python/python-calls';
import { boundedWork } from './bounded-work';
import {
  checkedGrade,
  checkedMessages,
  checkedObservation,
  checkedStep,
  checkedStopReason,
} from './environment-answers';
import type { RolloutFailureType } from './rollout-failure';
import { RolloutFailure } from './rollout-failure';

/** Waiting longer for an environment to put its things away would keep its group. */
const CLOSING_MS = 30_000;

interface Call {
  readonly signal: AbortSignal;
  /** null for what bounds itself. */
  readonly seconds: number | null;
  readonly types: { readonly error: RolloutFailureType; readonly late: RolloutFailureType };
}

const ENVIRONMENT = { error: 'environment_error', late: 'environment_timeout' } as const;
const GRADER = { error: 'grader_error', late: 'grader_timeout' } as const;

/** An environment behind a fence: it answers in time and as agreed, or its rollout has failed. */
export class EnvironmentCalls {
  constructor(
    private readonly environment: TrainingEnvironment,
    private readonly timeoutSeconds: number,
  ) {}

  get judgesCutReplies(): boolean {
    return this.environment.judgesCutReplies === true;
  }

  async observe(signal: AbortSignal): Promise<TrainingObservation> {
    return checkedObservation(
      await this.call(() => this.environment.initialObservation(), this.within(signal)),
    );
  }

  async beforeTurn(start: TurnStart, signal: AbortSignal): Promise<readonly Message[]> {
    const { environment } = this;
    if (environment.beforeTurn === undefined) return [];
    return checkedMessages(
      await this.call(() => environment.beforeTurn?.(structuredClone(start)) ?? [], this.within(signal)),
    );
  }

  /** The environment gets copies: what it does to them is in no journal. */
  async step(action: Message, { signal, ...facts }: ActionFacts): Promise<TrainingStep> {
    const [ownAction, ownFacts] = structuredClone([action, facts]);
    return checkedStep(
      await this.call((inner) => this.environment.step(ownAction, { ...ownFacts, signal: inner }), {
        ...this.within(signal),
        ...(this.environment.boundsItself && { seconds: null }),
      }),
    );
  }

  /** null where the environment leaves such rollouts as they are. */
  async gradeEarlyEnd(end: EarlyEnd, timeoutSeconds: number | null): Promise<RolloutGrade | null> {
    const { environment } = this;
    if (environment.gradeEarlyEnd === undefined) return null;
    const { signal: givenUp, ...facts } = end;
    const grade = await this.call(
      (signal) => environment.gradeEarlyEnd?.({ ...structuredClone(facts), signal }) ?? { reward: 0 },
      { signal: givenUp, seconds: timeoutSeconds ?? this.timeoutSeconds, types: GRADER },
    );
    return checkedGrade(grade);
  }

  nameStop(stopReason: string): string {
    const { environment } = this;
    if (environment.nameStop === undefined) return stopReason;
    try {
      return checkedStopReason(environment.nameStop(stopReason));
    } catch (thrown) {
      const error = askableError(thrown);
      throw error instanceof RolloutFailure ? error : new RolloutFailure('environment_error', error);
    }
  }

  /** What it could not put away is left to whoever lent it. */
  async close(): Promise<void> {
    const { environment } = this;
    if (environment.close === undefined) return;
    const { signal } = new AbortController();
    const late = () => new Error('late');
    await boundedWork(() => environment.close?.(), { signal, timeoutMs: CLOSING_MS, late }).catch(
      () => undefined,
    );
  }

  private within(signal: AbortSignal): Call {
    return { signal, seconds: this.timeoutSeconds, types: ENVIRONMENT };
  }

  private async call<Value>(
    work: (signal: AbortSignal) => Value | Promise<Value>,
    { signal, seconds, types }: Call,
  ): Promise<Value> {
    const late = () => new RolloutFailure(types.late, new Error(`no answer within ${String(seconds)} s`));
    try {
      return await boundedWork(work, { signal, timeoutMs: seconds === null ? null : seconds * 1000, late });
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof EnvironmentAway) throw error.cause;
      throw error instanceof RolloutFailure ? error : new RolloutFailure(types.error, error);
    }
  }
}
