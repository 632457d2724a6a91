import { performance } from 'node:perf_hooks';
import { chooseToken, uniformAt } from './choose-token';
import { Decoder } from './decoder';
import { keyWidth } from './model-shape';
import { Network } from './network';
import { scoreStretches, topCells } from './sampling-scores';
import { softmaxOf } from './sampling-softmax';
import type { TokenCells } from '../../../core/sampling';
import type { DrawParams } from './choose-token';
import type { Attention, Heads } from './decoder';
import type { Pointer } from './kernels';
import type { Activation } from './linear-map';
import type { ModelShape } from './model-shape';
import type { NetworkDescription } from './network';
import type { StretchScores, StretchScoring } from './sampling-scores';
import type { Workspace } from './workspace';

/**
 * Sampling in short quanta, so that training never waits long for a thread. A row's numbers do not depend on the
 * rows beside it, and each draw comes from its own stream, so how sequences are grouped and for how many steps
 * a quantum runs changes nothing but speed.
 */

/**
 * Floats of cache one position takes: keys and values of every layer. The odd number of cache lines keeps positions
 * that are a power of two apart from evicting one another.
 */
export function cacheFloatsPerPosition(shape: ModelShape): number {
  return shape.layers * 2 * keyWidth(shape) + 16;
}

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
}

export interface DecodedTokens {
  readonly tokens: readonly number[];
  readonly logprobs: readonly number[];
  readonly isStopped: boolean;
  /** One for each token, where any are wanted. */
  readonly top: readonly TokenCells[];
}

export interface DecodeOutput {
  readonly sequences: readonly DecodedTokens[];
}

interface Row {
  readonly cache: Pointer;
  readonly position: number;
  readonly token: number;
}

interface PassOutput {
  readonly logits: Pointer | null;
}

export function prefill(space: Workspace, { network: description, stretches }: PrefillInput): PrefillOutput {
  const network = new Network(description, 0);
  const rows = stretches.flatMap(({ cache, start, tokens }) =>
    tokens.map((token, index) => ({ cache, position: start + index, token })),
  );
  const wantsLogits = stretches.some(({ scoring }) => scoring !== null);
  const { logits } = runRows(space, network, { rows, wantsLogits });
  if (logits === null) return { scores: stretches.map(() => null) };
  return { scores: scoreStretches(space, network, { logits, stretches }) };
}

export function decode(
  space: Workspace,
  { network: description, sequences, quantumMs }: DecodeInput,
): DecodeOutput {
  const network = new Network(description, 0);
  const states = sequences.map((sequence) => new SequenceState(sequence));
  const deadline = performance.now() + quantumMs;
  let active = states;
  do {
    const running = active;
    space.scratch(() => {
      drawOne(space, network, running);
    });
    active = running.filter((state) => !state.isDone);
  } while (active.length > 0 && performance.now() < deadline);
  return {
    sequences: states.map(({ tokens, logprobs, isStopped, top }) => ({ tokens, logprobs, isStopped, top })),
  };
}

class SequenceState {
  readonly tokens: number[] = [];
  readonly logprobs: number[] = [];
  readonly top: TokenCells[] = [];
  isStopped = false;

  constructor(readonly input: DecodingSequence) {}

  get isDone(): boolean {
    return this.isStopped || this.tokens.length >= this.input.remaining;
  }

  get row(): Row {
    const { cache, position, lastToken } = this.input;
    return { cache, position: position + this.tokens.length, token: this.tokens.at(-1) ?? lastToken };
  }

  accept(token: number, logprob: number): void {
    this.tokens.push(token);
    this.logprobs.push(logprob);
    this.isStopped = this.input.stopTokens.includes(token);
  }
}

function drawOne(space: Workspace, network: Network, states: readonly SequenceState[]): void {
  const { logits } = runRows(space, network, { rows: states.map((state) => state.row), wantsLogits: true });
  if (logits === null) return;
  const softmax = softmaxOf(space, network, {
    logits,
    // Greedy decoding reports the log-probabilities of the distribution at temperature 1.
    temperatures: states.map(({ input }) => (input.draw.temperature === 0 ? 1 : input.draw.temperature)),
  });
  for (const [index, state] of states.entries()) {
    const { draw, seed, drawn, topCount } = state.input;
    const uniform = draw.temperature === 0 ? 0 : uniformAt(seed, drawn + state.tokens.length);
    const token = chooseToken(softmax.probabilities(index), draw, uniform);
    if (topCount > 0) state.top.push(topCells(softmax, index, topCount));
    state.accept(token, softmax.logprob(index, token));
  }
}

function runRows(
  space: Workspace,
  network: Network,
  { rows, wantsLogits }: { readonly rows: readonly Row[]; readonly wantsLogits: boolean },
): PassOutput {
  const tokens = space.storeIntegers(rows.map(({ token }) => token));
  const positions = space.storeIntegers(rows.map(({ position }) => position));
  const caches = space.storeIntegers(rows.map(({ cache }) => cache));
  const longest = Math.max(...rows.map(({ position }) => position)) + 1;
  const decoder = new Decoder(space, network, { tokens, positions, rows: rows.length, isTraining: false });
  const hidden = decoder.run(
    new CachedAttention(space, network, { rows: rows.length, positions, caches, longest }),
  );
  return { logits: wantsLogits ? decoder.logits(hidden).value : null };
}

/** Rows store their keys and values in their sequence's cache, then attend to all that came before. */
class CachedAttention implements Attention {
  private readonly scratch: Pointer;

  constructor(
    private readonly space: Workspace,
    private readonly network: Network,
    private readonly options: {
      readonly rows: number;
      readonly positions: Pointer;
      readonly caches: Pointer;
      readonly longest: number;
    },
  ) {
    this.scratch = space.allocate(options.longest + 4);
  }

  forward(layer: number, { queries, keys, values }: Heads): { output: Activation; backward: () => void } {
    const { kernels } = this.space;
    const { shape } = this.network;
    const { rows, positions, caches } = this.options;
    const width = keyWidth(shape);
    const step = cacheFloatsPerPosition(shape) * 4;
    const keyOffset = layer * 2 * width * 4;
    const valueOffset = keyOffset + width * 4;
    kernels.storeInCache(rows, width, keys.value, caches, keyOffset, step, positions);
    kernels.storeInCache(rows, width, values.value, caches, valueOffset, step, positions);
    const value = this.space.allocate(rows * shape.width);
    kernels.attendCache(
      rows,
      shape.heads,
      shape.keyHeads,
      shape.headWidth,
      queries.value,
      caches,
      keyOffset,
      valueOffset,
      step,
      positions,
      value,
      this.scratch,
    );
    return { output: { value, gradient: 0 }, backward: () => undefined };
  }
}
