import { setImmediate as nextTurn } from 'node:timers/promises';
import { DomainError } from '../../core/errors';
import { shuffledIndices } from '../../core/random';
import type { Sampler } from '../../core/sampling';
import { inTurns } from '../../core/tokenizer';
import type { Journal } from '../../stores/fenced-journal';
import { digestOf, seedOf } from '../digest';
import { namingRow } from '../benchmarks/example-of-row';
import { allInTurns } from '../evaluators/journalled-work';
import type { Row } from '../graders/row-grader';
import { askProbe } from './ask-probe';
import type { JudgedSample, Kind, KindSite, PreparedExample, Probe, ScoredSequence } from './kind';

export interface KindDependencies extends KindSite {
  /** Draws from the weights that are measured. */
  readonly sampler: Sampler;
}

/** What an evaluation of a kind has paid for, and at its end what came of it. */
export type KindRow =
  | ({ readonly key: string } & ScoredSequence)
  | { readonly key: string; readonly value: number | null; readonly perExample: readonly (number | null)[] };

const REDUCTIONS = ['mean', 'sum', 'none'] as const;
export type Reduction = (typeof REDUCTIONS)[number];

export interface KindOptions {
  readonly rows: readonly Row[];
  /** Which rows, in which order; default all. */
  readonly indices?: readonly number[];
  /** `none`: no value, only one of each sample, as rewards need them. */
  readonly reduce: Reduction;
  readonly signal: AbortSignal;
  /** Answers are found again by the weights and the tokens; a finished evaluation gives its stored result. */
  readonly journal?: Pick<Journal<KindRow>, 'get' | 'appendWhenRoom' | 'verify'>;
  /** Which weights are measured, for the journal's keys. */
  readonly identity?: string;
  /** Requests under way; default 64. */
  readonly concurrency?: number;
}

/** The tokens of a sample, and which of them it was judged by: those that were written, scored or predicted. */
export interface Intermediate {
  readonly tokens: readonly number[];
  readonly mask: readonly boolean[];
  readonly logprobs: readonly number[] | null;
}

export interface KindResult {
  /** null with `reduce: 'none'`, and where no sample has a value. */
  readonly value: number | null;
  /** One value a sample: samples of one example stand together, in the order of the examples. null: it could not be asked. */
  readonly perExample: readonly (number | null)[];
  /** As long as `perExample`. */
  readonly intermediates: readonly (Intermediate | null)[];
  readonly metric: string;
  readonly higherIsBetter: boolean;
}

/**
 * Measures a model by a kind of task. Every sample has its place in the result whatever became of it, so that values,
 * tokens and masks stay in step.
 */
export async function evaluateKind(
  dependencies: KindDependencies,
  kind: Kind,
  options: KindOptions,
): Promise<KindResult> {
  const examples = await prepareExamples(dependencies, kind, options);
  const sequences = await askAll(dependencies, examples, options);
  const { metric, higherIsBetter } = kind;
  const finished = await finish(kind, examples, { ...options, sequences });
  return { ...finished, metric, higherIsBetter };
}

/** Rows; others work in the same process. */
const PAUSE_EVERY = 16;

/** A sample of the rows that depends on the task's name alone: two checkpoints are asked the same. */
export function chooseIndices(name: string, rowCount: number, maxExamples = rowCount): readonly number[] {
  return maxExamples >= rowCount
    ? Array.from({ length: rowCount }, (_, index) => index)
    : [...shuffledIndices(rowCount, seedOf(name)).slice(0, maxExamples)];
}

async function prepareExamples(
  site: KindSite,
  kind: Kind,
  { rows, indices, reduce, signal }: KindOptions,
): Promise<PreparedExample[]> {
  if (!REDUCTIONS.includes(reduce)) {
    throw new DomainError('bad-config', `reduce: unknown word "${reduce}". Use ${REDUCTIONS.join(', ')}.`);
  }
  const examples: PreparedExample[] = [];
  for (const [count, index] of (indices ?? [...rows.keys()]).entries()) {
    if (count % PAUSE_EVERY === PAUSE_EVERY - 1) await nextTurn();
    const row = rows[index];
    if (row === undefined) throw noSuchRow(kind, index, rows.length);
    const named = { name: kind.name, row, index, source: 'its data' };
    const prepare = () => namingRow(named, () => kind.prepare(row, index, site));
    const example = await inTurns(site.tokenizer, prepare, { signal });
    if (example) examples.push(example);
  }
  if (examples.length > 0) return examples;
  throw new DomainError('bad-dataset', `Task "${kind.name}" has no examples. Check its dataset.`);
}

function noSuchRow({ name }: Kind, index: number, count: number): DomainError {
  return new DomainError(
    'bad-config',
    `Task "${name}" has no row ${index}: there are ${count}. Correct the indices.`,
  );
}

/** The sequences of each example, in the order of its probes. */
async function askAll(
  { sampler }: KindDependencies,
  examples: readonly PreparedExample[],
  { signal, journal, identity = '', concurrency = 64 }: KindOptions,
): Promise<ScoredSequence[][]> {
  const probes = examples.flatMap((example) => example.probes);
  const answers = await allInTurns(probes, { limit: concurrency, signal }, async (probe, stop) => {
    const key = digestOf([identity, probe]);
    const known = journal?.get(key);
    if (known && 'tokens' in known) return known;
    journal?.verify();
    const sequence = await askProbe(sampler, probe, stop);
    await journal?.appendWhenRoom({ key, ...sequence }, { signal: stop });
    return sequence;
  });
  let next = 0;
  return examples.map(({ probes: own }: { readonly probes: readonly Probe[] }) =>
    answers.slice(next, (next += own.length)),
  );
}

type FinishedPart = Pick<KindResult, 'value' | 'perExample' | 'intermediates'>;

async function finish(
  kind: Kind,
  examples: readonly PreparedExample[],
  options: KindOptions & { readonly sequences: readonly ScoredSequence[][] },
): Promise<FinishedPart> {
  const { sequences, reduce, journal, identity = '', signal } = options;
  const judged = examples.flatMap((example, index) => judge(example, sequences[index] ?? []));
  const intermediates = judged.map(({ sequence }) => (sequence === null ? null : intermediateOf(sequence)));
  const code = kind.codeHash === undefined ? [] : [kind.codeHash];
  const asked = [identity, kind.name, kind.version, reduce, examples.map(({ probes }) => probes), ...code];
  const key = `result:${digestOf(asked)}`;
  const stored = journal?.get(key);
  if (stored && 'value' in stored) {
    return { value: stored.value, perExample: stored.perExample, intermediates };
  }
  const perExample = judged.map(({ value }) => value);
  const value = reduce === 'none' ? null : kind.reduce(judged, reduce);
  await journal?.appendWhenRoom({ key, value, perExample }, { signal });
  return { value, perExample, intermediates };
}

function judge(example: PreparedExample, sequences: readonly ScoredSequence[]): readonly JudgedSample[] {
  if (example.probes.length > 0) return example.judge(sequences);
  return Array.from({ length: example.sampleCount }, () => ({ value: null, sequence: null }));
}

function intermediateOf({ tokens, start, logprobs }: ScoredSequence): Intermediate {
  return { tokens, mask: tokens.map((_, index) => index >= start), logprobs };
}
