import { performance } from 'node:perf_hooks';
import { largestOf } from '../../../core/extremes';
import { chooseToken, isFromAll, uniformAt } from './choose-token';
import { Forward } from './forward';
import { Network } from './network';
import { scoreStretches, topCells } from './sampling-scores';
import { softmaxOf } from './sampling-softmax';
import type { TokenCells } from '../../../core/sampling';
import type { DrawParams } from './choose-token';
import type { Row, RowTables } from './forward';
import type { Pointer } from './kernels';
import type { NetworkDescription } from './network';
import type { StretchScores, StretchScoring } from './sampling-scores';
import type { Workspace } from './workspace';

/**
 * Sampling in short quanta, so that training never waits long for a thread. A row's numbers do not depend on the
 * rows beside it, and each draw comes from its own stream, so how sequences are grouped and for how many steps
 * a quantum runs changes nothing but speed.
 */

/** What others want of a thread that draws. */
export const URGENCY = {
  none: 0,
  /** A thread has nothing to do and could draw for some of the sequences. One quantum that ends for it sets `none`. */
  idleThread: 1,
  /** Somebody waits for a thread. */
  waiting: 2,
} as const;

/** A thread is not given fewer while others wait for their turn. */
export const FEWEST_SEQUENCES = 4;
/** With fewer tokens to go, handing sequences over takes as long as drawing them. */
const FEWEST_TOKENS_TO_SHARE = 8;

/** A stretch of a prompt whose keys and values are to be cached. */
export interface PromptStretch {
  readonly cache: Pointer;
  readonly start: number;
  readonly tokens: readonly number[];
  readonly scoring: StretchScoring | null;
}

export interface PrefillInput {
  readonly network: NetworkDescription;
  readonly stretches: readonly PromptStretch[];
}

export interface PrefillOutput {
  readonly scores: readonly (StretchScores | null)[];
}

export interface DecodingSequence {
  readonly cache: Pointer;
  /** What comes before `lastToken` and is not in the cache yet: nothing, or a short prompt. */
  readonly prompt: readonly number[];
  /** Of `lastToken`, which is not in the cache yet. */
  readonly position: number;
  readonly lastToken: number;
  readonly seed: number;
  /** Tokens drawn so far: the next draw's place in its stream. */
  readonly drawn: number;
  readonly remaining: number;
  readonly stopTokens: readonly number[];
  readonly draw: DrawParams;
  /** How many of the likeliest tokens to name at each draw. */
  readonly topCount: number;
}

export interface DecodeInput {
  readonly network: NetworkDescription;
  readonly sequences: readonly DecodingSequence[];
  readonly quantumMs: number;
  /** A quantum that nobody waits for, and that has nothing to tell yet, goes on for so long. */
  readonly longestQuantumMs: number;
  /** A shared int32, one of `URGENCY`. */
  readonly urgency: Pointer;
  /** Rows of prompts to run at a time. */
  readonly mostPromptRows: number;
}

export interface DecodedTokens {
  /** False where the quantum ended before the sequence's prompt had its turn. */
  readonly isPrefilled: boolean;
  readonly tokens: readonly number[];
  readonly logprobs: readonly number[];
  readonly isStopped: boolean;
  /** One for each token, where any are wanted. */
  readonly top: readonly TokenCells[];
}

export interface DecodeOutput {
  readonly sequences: readonly DecodedTokens[];
}

export function prefill(space: Workspace, { network: description, stretches }: PrefillInput): PrefillOutput {
  const network = new Network(description, 0);
  const forward = new Forward(space, network);
  const rows = forward.tables(
    stretches.flatMap(({ cache, start, tokens }) =>
      tokens.map((token, index) => ({ cache, position: start + index, token })),
    ),
  );
  if (stretches.every(({ scoring }) => scoring === null)) {
    forward.remember(rows);
    return { scores: stretches.map(() => null) };
  }
  return { scores: scoreStretches(space, network, { logits: forward.logits(rows), stretches }) };
}

export function decode(space: Workspace, input: DecodeInput): DecodeOutput {
  const states = input.sequences.map((sequence) => new SequenceState(sequence));
  new Quantum(space, input).run(states);
  return {
    sequences: states.map(({ isPrefilled, tokens, logprobs, isStopped, top }) => ({
      isPrefilled,
      tokens,
      logprobs,
      isStopped,
      top,
    })),
  };
}

class Quantum {
  private readonly start = performance.now();
  private readonly network: Network;
  private readonly forward: Forward;

  constructor(
    private readonly space: Workspace,
    private readonly input: DecodeInput,
  ) {
    this.network = new Network(input.network, 0);
    this.forward = new Forward(space, this.network);
  }

  run(states: readonly SequenceState[]): void {
    let active = this.prefill(states);
    do {
      const together = active;
      this.space.scratch(() => {
        this.draw(together, { mayRunOn: together.length === states.length });
      });
      active = together.filter((state) => !state.isDone);
    } while (active.length > 0 && this.hasTime);
  }

  private get hasTime(): boolean {
    return performance.now() - this.start < this.input.quantumMs;
  }

  /** Whether a quantum whose time is over may have some more. */
  private mayGoOn(states: readonly SequenceState[]): boolean {
    if (performance.now() - this.start >= this.input.longestQuantumMs) return false;
    const urgency = Atomics.load(this.space.integers, this.input.urgency / 4);
    return urgency === URGENCY.idleThread ? !this.shares(states) : urgency === URGENCY.none;
  }

  /** Whether the sequences are worth sharing with an idle thread, and no other quantum has ended for it. */
  private shares(states: readonly SequenceState[]): boolean {
    const tokensLeft = largestOf(states.map(({ left }) => left));
    if (states.length < 2 * FEWEST_SEQUENCES || tokensLeft < FEWEST_TOKENS_TO_SHARE) return false;
    const { idleThread, none } = URGENCY;
    return (
      Atomics.compareExchange(this.space.integers, this.input.urgency / 4, idleThread, none) === idleThread
    );
  }

  /** Puts prompts into their caches while there is time, the first of them in any case. Returns the sequences to draw from. */
  private prefill(states: readonly SequenceState[]): readonly SequenceState[] {
    let waiting = states.filter(({ isPrefilled }) => !isPrefilled);
    if (waiting.length === 0) return states;
    do {
      const chosen = firstPrompts(waiting, this.input.mostPromptRows);
      this.space.scratch(() => {
        this.forward.remember(this.forward.tables(chosen.flatMap((state) => state.promptRows)));
      });
      for (const state of chosen) state.isPrefilled = true;
      waiting = waiting.filter(({ isPrefilled }) => !isPrefilled);
    } while (waiting.length > 0 && this.hasTime);
    return states.filter(({ isPrefilled }) => isPrefilled);
  }

  /** Until one of them is done, or for as long as there is time. */
  private draw(states: readonly SequenceState[], { mayRunOn }: { readonly mayRunOn: boolean }): void {
    const { space, forward } = this;
    const rows = forward.tables(states.map(({ row }) => row));
    // Greedy decoding reports the log-probabilities of the distribution at temperature 1.
    const temperatures = states.map(({ input: { draw } }) => (draw.temperature === 0 ? 1 : draw.temperature));
    do {
      space.scratch(() => {
        this.drawOne(states, rows, temperatures);
      });
      if (states.some(({ isDone }) => isDone)) return;
    } while (this.hasTime || (mayRunOn && this.mayGoOn(states)));
  }

  /** Draws a token for each state, and makes it the one that is next in the state's row. */
  private drawOne(states: readonly SequenceState[], rows: RowTables, temperatures: readonly number[]): void {
    const { space, network, forward } = this;
    const softmax = softmaxOf(space, network, { logits: forward.logits(rows), temperatures });
    const uniforms = states.map(({ nextUniform }) => nextUniform);
    const fromAll = softmax.draw(uniforms);
    const [tokens, positions] = [rows.tokens / 4, rows.positions / 4];
    for (let row = 0; row < states.length; row++) {
      const state = states[row];
      if (state === undefined) continue;
      const { draw, topCount } = state.input;
      const token = isFromAll(draw, network.shape.vocabSize)
        ? (fromAll[row] ?? 0)
        : chooseToken(softmax.probabilities(row), draw, uniforms[row] ?? 0);
      if (topCount > 0) state.top.push(topCells(softmax, row, topCount));
      state.accept(token, softmax.logprob(row, token));
      space.integers[tokens + row] = token;
      space.integers[positions + row] = (space.integers[positions + row] ?? 0) + 1;
    }
  }
}

function firstPrompts(waiting: readonly SequenceState[], mostRows: number): readonly SequenceState[] {
  let rows = 0;
  return waiting.filter(({ input }, index) => {
    rows += input.prompt.length;
    return index === 0 || rows <= mostRows;
  });
}

class SequenceState {
  readonly tokens: number[] = [];
  readonly logprobs: number[] = [];
  readonly top: TokenCells[] = [];
  isStopped = false;
  isPrefilled: boolean;

  constructor(readonly input: DecodingSequence) {
    this.isPrefilled = input.prompt.length === 0;
  }

  get promptRows(): Row[] {
    const { cache, position, prompt } = this.input;
    return prompt.map((token, index) => ({ cache, position: position - prompt.length + index, token }));
  }

  get isDone(): boolean {
    return this.isStopped || this.left <= 0;
  }

  /** Tokens to draw, unless it stops before. */
  get left(): number {
    return this.input.remaining - this.tokens.length;
  }

  get row(): Row {
    const { cache, position, lastToken } = this.input;
    return { cache, position: position + this.tokens.length, token: this.tokens.at(-1) ?? lastToken };
  }

  get nextUniform(): number {
    const { draw, seed, drawn } = this.input;
    return draw.temperature === 0 ? 0 : uniformAt(seed, drawn + this.tokens.length);
  }

  accept(token: number, logprob: number): void {
    this.tokens.push(token);
    this.logprobs.push(logprob);
    this.isStopped = this.input.stopTokens.includes(token);
  }
}
