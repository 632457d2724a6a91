import type { Message } from '../../core/conversation';
import type { Renderer } from '../../renderers/renderer';
import type { Tokenizer } from '../../core/tokenizer';
import type { Benchmark } from '../benchmarks/benchmark';
import type { Row } from '../graders/row-grader';

/** What the model is asked about a sequence. `start`: the first token that is scored or written. */
export interface Probe {
  readonly tokens: readonly number[];
  readonly start: number;
  readonly ask: 'logprobs' | 'likeliest' | Continuation;
}

/** How a continuation is drawn. */
export interface Continuation {
  readonly maxTokens: number;
  readonly temperature: number;
  readonly topP: number;
  readonly seed: number;
  readonly stop?: readonly string[] | readonly number[];
}

/** A probe answered; the tokens from `start` on are those that were scored, predicted or written. */
export interface ScoredSequence {
  readonly tokens: readonly number[];
  readonly start: number;
  /** Of the tokens from `start` on; null where only the likeliest were asked for. */
  readonly logprobs: readonly number[] | null;
  /** What the model would have written in place of each token from `start` on. */
  readonly likeliest?: readonly number[];
}

/** One sample of an example judged; `value` is null where the model could not be asked. */
export interface JudgedSample {
  readonly value: number | null;
  readonly sequence: ScoredSequence | null;
}

/** An example made ready. No probes: it cannot be asked, and counts as that many samples without a value. */
export interface PreparedExample {
  readonly probes: readonly Probe[];
  readonly sampleCount: number;
  judge(sequences: readonly ScoredSequence[]): readonly JudgedSample[];
}

/** What the tokens of an example depend on. */
export interface KindSite {
  readonly tokenizer: Tokenizer;
  readonly renderer: Renderer;
  /** Tokens the model reads and writes together; null where the service does not say. */
  readonly contextLength: number | null;
}

/** What a model is asked in words, and what its answer is worth: the same to a measurement and to a reward. */
export interface KindQuestions {
  /** null leaves the row out. */
  ask(row: Row, index: number): { readonly messages: readonly Message[]; readonly gold: string } | null;
  worth(gold: string, text: string): number;
}

/**
 * A task measured by generation or by likelihood. Made by `generation`, `teacherForced`, `perplexity` or
 * `choiceByPerplexity`.
 *
 * `prepare` is a function of the row and its index: an example asked again is the same example.
 */
export interface Kind {
  readonly name: string;
  /** Rises with every change that moves the score. */
  readonly version: number;
  readonly kind: 'generation' | 'teacherForced' | 'perplexity' | 'choiceByPerplexity';
  /** Of the plug-in file that brings it: what is asked and how it is judged may change with the file. */
  readonly codeHash?: string;
  readonly description: string;
  readonly metric: string;
  readonly higherIsBetter: boolean;
  readonly data: Benchmark['data'];
  /** null leaves the row out. */
  prepare(row: Row, index: number, site: KindSite): PreparedExample | null;
  /** Of tasks whose answers are drawn; bare text is asked as a user's message. */
  readonly questions?: KindQuestions;
  /** One number of many samples; null where none has a value. */
  reduce(judged: readonly JudgedSample[], how: 'mean' | 'sum'): number | null;
}

/** What every declaration of a task says. */
export interface KindDeclaration {
  readonly name: string;
  /** Default 1. */
  readonly version?: number;
  readonly description?: string;
  readonly data: Benchmark['data'];
}

/** The room for a prompt: the protocol draws at least one token behind it. */
export function promptRoom(contextLength: number | null, reserved = 1): number {
  return contextLength === null ? Infinity : contextLength - reserved;
}

/** Samples without a value count 0, so that nothing is gained by not answering. */
export function reduceScores(judged: readonly JudgedSample[], how: 'mean' | 'sum'): number | null {
  if (judged.length === 0) return null;
  const sum = judged.reduce((total, { value }) => total + (value ?? 0), 0);
  return how === 'sum' ? sum : sum / judged.length;
}
