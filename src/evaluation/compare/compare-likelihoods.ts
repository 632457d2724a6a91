import { join } from 'node:path';
import { DomainError } from '../../core/errors';
import type { LikelihoodSums } from '../../core/metrics/supervised-metrics';
import type { RatioPart } from '../../core/statistics/mean';
import { ratioOf } from '../../core/statistics/mean';
import { LIKELIHOODS_FILE } from '../../stores/eval-places';
import { readJsonLines } from '../../stores/json-lines';
import type { StoredCell } from '../stored-cell';
import { readStoredCell } from '../stored-cell';
import type { RawComparison } from './compare-scores';
import { compareRatios } from './compare-scores';

/** What an nll evaluator stored of each example. */
export interface LikelihoodScores {
  readonly cell: StoredCell;
  readonly examples: ReadonlyMap<string, LikelihoodSums>;
}

interface LikelihoodSide extends LikelihoodScores {
  readonly label: string;
}

type Sides = readonly [LikelihoodSide, LikelihoodSide];

interface ComparedLikelihoods {
  /** The metric's key, e.g. `test/nll`. */
  readonly benchmark: string;
  readonly raw: RawComparison;
  readonly warnings: readonly string[];
}

type LikelihoodRow = Partial<LikelihoodSums> & { readonly example_id?: unknown };

const METRICS = {
  nll: ({ nll, weight }: LikelihoodSums): RatioPart => ({ numerator: nll, denominator: weight }),
  bpb: ({ nats, bytes }: LikelihoodSums): RatioPart => ({ numerator: nats / Math.LN2, denominator: bytes }),
};

/** Sums are of 32-bit floats, which add up a little differently from batch to batch. */
const SAME_SUM = 1e-5;

/** Reads the cell of an nll evaluator. Throws `bad-dataset` where its examples are gone. */
export async function readLikelihoods(folder: string, name: string): Promise<LikelihoodScores> {
  const file = join(folder, name, LIKELIHOODS_FILE);
  const cell = await readStoredCell(join(folder, name));
  const rows = (await readJsonLines<LikelihoodRow>(file)).flatMap(exampleOf);
  if (cell === null || rows.length === 0) {
    throw new DomainError(
      'bad-dataset',
      `${file} has no example of the loss "${name}", so nothing can be paired. Evaluate the checkpoint again.`,
    );
  }
  return { cell, examples: new Map(rows) };
}

/**
 * Compares two losses on the examples both have: nll where both measured the same base model, which cuts texts into the same tokens;
 * else bits per byte, which do not depend on the tokens.
 */
export function compareLikelihoods(name: string, a: LikelihoodSide, b: LikelihoodSide): ComparedLikelihoods {
  const isOneModel = a.cell.model.name === b.cell.model.name;
  const metric = isOneModel ? 'nll' : 'bpb';
  const parts = { a: partsOf(a, metric), b: partsOf(b, metric) };
  const raw = compareRatios(parts.a, parts.b);
  const benchmark = `${name}/${metric}`;
  if (raw === null) {
    throw new DomainError(
      'bad-config',
      `${benchmark}: ${a.label} and ${b.label} share no example (${a.examples.size} and ${b.examples.size} measured). ` +
        'Measure both on the same data, or choose other benchmarks with --benchmark.',
    );
  }
  const modelWarning = `${name}: ${a.label} is of ${a.cell.model.name}, ${b.label} of ${b.cell.model.name}: compared in bits per byte, since their tokens may differ.`;
  return {
    benchmark,
    raw,
    warnings: [
      ...(isOneModel ? [] : [modelWarning]),
      ...makingWarnings(benchmark, a, b),
      ...textWarnings(benchmark, [a, b], parts),
      ...sharingWarnings(benchmark, [a, b], raw.n),
      ...[a, b].flatMap((side) => scoreWarnings(name, side, metric)),
    ],
  };
}

function exampleOf({ example_id, nll, weight, nats, bytes }: LikelihoodRow): [string, LikelihoodSums][] {
  const isWhole =
    typeof example_id === 'string' &&
    [nll, weight, nats, bytes].every((value) => typeof value === 'number' && Number.isFinite(value));
  if (!isWhole) return [];
  return [[example_id, { nll: nll ?? 0, weight: weight ?? 0, nats: nats ?? 0, bytes: bytes ?? 0 }]];
}

type Parts = ReadonlyMap<string, RatioPart>;

/** Examples without weight say nothing, not that the loss is 0. */
function partsOf({ examples }: LikelihoodSide, metric: keyof typeof METRICS): Parts {
  const parts = [...examples].map(([id, sums]) => [id, METRICS[metric](sums)] as const);
  return new Map(parts.filter(([, { denominator }]) => denominator > 0));
}

/** One side has fewer examples, as `maxExamples` chooses: the shared ones are the same. */
function makingWarnings(benchmark: string, a: LikelihoodSide, b: LikelihoodSide): string[] {
  const [first, second] = [a.cell.madeFrom, b.cell.madeFrom];
  if (first === undefined || second === undefined || first === second) return [];
  return [
    `${benchmark}: ${a.label} and ${b.label} were not measured by the same evaluator on the same rows.`,
  ];
}

function textWarnings(
  benchmark: string,
  [a, b]: Sides,
  parts: { readonly a: Parts; readonly b: Parts },
): string[] {
  const isOther = [...parts.a].some(([id, { denominator }]) => {
    const other = parts.b.get(id)?.denominator ?? denominator;
    return Math.abs(other - denominator) > SAME_SUM * denominator;
  });
  return isOther
    ? [
        `${benchmark}: ${a.label} and ${b.label} count other parts of the examples (renderer, trainOnWhat, lossReduction or maxLength differ). The difference may come from it.`,
      ]
    : [];
}

function sharingWarnings(benchmark: string, [a, b]: Sides, sharedCount: number): string[] {
  const [extraA, extraB] = [a, b].map(
    ({ examples }, index) =>
      [...examples.keys()].filter((id) => !(index === 0 ? b : a).examples.has(id)).length,
  );
  if (!extraA && !extraB) return [];
  return [
    `${benchmark}: ${sharedCount} examples are shared; ${extraA ?? 0} of ${a.label} alone and ${extraB ?? 0} of ${b.label} alone are left out.`,
  ];
}

/** What is stored a row an example must add up to the score that was reported. */
function scoreWarnings(
  name: string,
  { label, cell, examples }: LikelihoodSide,
  metric: keyof typeof METRICS,
): string[] {
  const reported = cell.scores.find((score) => score.metric === metric)?.value ?? null;
  const stored = ratioOf([...examples.values()].map(METRICS[metric]))?.mean ?? null;
  if (reported === null || stored === null) return [];
  if (Math.abs(reported - stored) <= SAME_SUM * Math.abs(reported)) return [];
  return [
    `${name}/${metric}: the examples stored for ${label} give ${stored.toPrecision(5)}, its score says ${reported.toPrecision(5)}: an example that stands several times in the data counts once here.`,
  ];
}
