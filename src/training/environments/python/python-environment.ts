import { randomUUID } from 'node:crypto';
import type { Message } from '../../../core/conversation';
import type { ActionFacts } from '../../../core/environment';
import type { TrainingEnvironment, TrainingStep } from '../environment-dataset';
import type { PythonAnswer, PythonCalls } from './python-calls';
import type { PythonObservation } from './python-messages';
import { readObservation, readStep, toPythonMessage } from './python-messages';

interface Played {
  readonly input: Readonly<Record<string, unknown>>;
  /** The answer as text, to be compared where it is played again. */
  readonly answer: string;
}

/**
 * One rollout of an environment in Python. Its state lies in the worker that opened it.
 *
 * A worker that dies takes the state with it: the rollout is then opened at another one, and what the model said so far is
 * played again, without sampling. An environment that then answers otherwise has lost the rollout.
 */
export class PythonEnvironment implements TrainingEnvironment {
  judgesCutReplies = false;
  private rollout: string | null = null;
  private queue: string | null = null;
  private readonly played: Played[] = [];

  constructor(
    private readonly calls: PythonCalls,
    private readonly opening: { readonly problem: unknown; readonly member: number },
    private readonly signal: AbortSignal,
  ) {}

  async initialObservation(): Promise<PythonObservation> {
    const observation = readObservation(await this.play({ ...this.opening }, this.signal));
    this.judgesCutReplies = observation.judgesCutReplies;
    return observation;
  }

  async step(action: Message, { stopReason, isMalformed, signal }: ActionFacts): Promise<TrainingStep> {
    const input = { message: toPythonMessage(action), stopReason, isMalformed };
    return readStep(await this.play(input, signal));
  }

  async close(): Promise<void> {
    // A worker that opened it and could not say so lets go of it by itself.
    if (this.rollout === null || this.queue === null) return;
    const call = { rollout: this.rollout, turn: -1, input: {} };
    await this.calls.ask(call, this.queue, new AbortController().signal);
  }

  private async play(input: Played['input'], signal: AbortSignal): Promise<unknown> {
    for (;;) {
      const answer = await this.ask(this.played.length, input, signal);
      if (answer.type === 'value') {
        this.played.push({ input, answer: JSON.stringify(answer.value) });
        return answer.value;
      }
      await this.playAgain(signal);
    }
  }

  /** Everything so far at another worker. */
  private async playAgain(signal: AbortSignal): Promise<void> {
    this.rollout = null;
    this.queue = null;
    for (let turn = 0; turn < this.played.length; turn++) {
      const { input, answer } = this.played[turn] ?? { input: {}, answer: '' };
      const found = await this.ask(turn, input, signal);
      if (found.type === 'lost') {
        this.rollout = null;
        this.queue = null;
        turn = -1;
      } else if (JSON.stringify(found.value) !== answer) {
        throw new Error(
          `its Python worker died, and played again turn ${turn} came out otherwise; an environment has to be a function of what the model says`,
        );
      }
    }
  }

  private async ask(
    turn: number,
    input: Played['input'],
    signal: AbortSignal,
  ): Promise<Exclude<PythonAnswer, { readonly type: 'error' }>> {
    this.rollout ??= randomUUID();
    const answer = await this.calls.ask({ rollout: this.rollout, turn, input }, this.queue, signal);
    if (answer.type === 'error') throw new Error(answer.message);
    if (answer.type === 'value') this.queue = answer.queue;
    return answer;
  }
}
