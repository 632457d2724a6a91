import { basename } from 'node:path';
import { DomainError } from '../../core/errors';
import { benjaminiHochberg, holm } from '../../core/statistics/multiple-comparisons';
import type { EvalPlace } from '../../stores/eval-places';
import { locateResults } from '../../stores/eval-places';
import type { Candidate } from './candidate';
import { candidateAt } from './candidate';
import { refuseDisjoint, warningsOf } from './comparison-warnings';
import type { RawComparison } from './compare-scores';
import { compareScores } from './compare-scores';
import type { CompareOptions, ComparisonReport, Correction, DetailedComparison } from './comparison';
import type { LikelihoodScores } from './compare-likelihoods';
import { compareLikelihoods, readLikelihoods } from './compare-likelihoods';
import type { ExampleScores } from './example-scores';
import { readExampleScores } from './example-scores';
import type { SharedBenchmark } from './shared-benchmarks';
import { sharedBenchmarks } from './shared-benchmarks';
import { verdictOf } from './verdict';

const ADJUST: Readonly<Record<Correction, (pValues: readonly number[]) => number[]>> = {
  holm,
  bh: benjaminiHochberg,
  none: (pValues) => [...pValues],
};

export interface CompareManyOptions extends CompareOptions {
  /** Every pair, instead of the first with each other. */
  readonly allPairs?: boolean;
}

interface Readers {
  readonly scores: (folder: string, benchmark: string) => Promise<ExampleScores>;
  readonly likelihoods: (folder: string, cell: string) => Promise<LikelihoodScores>;
}

interface PairResult {
  readonly a: string;
  readonly b: string;
  readonly benchmark: string;
  readonly raw: RawComparison;
  readonly warnings: readonly string[];
}

/**
 * Compares two results on the benchmarks and examples they share, with paired statistics.
 *
 * `a` and `b` are folders, or with `store` names of eval runs, `RUN@STEP` or `RUN`. Examples are paired by their id, which is
 * made of their content, never by their place in the file. Throws where nothing is shared, or a file is torn.
 */
export function compareResults(
  a: string,
  b: string,
  options: CompareOptions = {},
): Promise<ComparisonReport> {
  return compareMany([a, b], options);
}

/** The same for more than two: the first with each other, or all pairs. p-values are corrected over all of them. */
export async function compareMany(
  names: readonly string[],
  { allPairs = false, ...options }: CompareManyOptions = {},
): Promise<ComparisonReport> {
  if (names.length < 2) {
    throw new DomainError('bad-config', 'Name two results or more, e.g. everstep compare run@0 run@100.');
  }
  const candidates: Candidate[] = [];
  for (const name of names)
    candidates.push(
      await candidateAt(await locateResults(name, options.store ?? null), options.whyUnfinished),
    );
  const read: Readers = {
    scores: remembering((folder, benchmark) =>
      readExampleScores(folder, benchmark, { completedOnly: options.completedOnly ?? false }),
    ),
    likelihoods: remembering(readLikelihoods),
  };
  const results: PairResult[] = [];
  const warnings: string[] = candidates.flatMap(({ place }) => passedOverWarning(place));
  for (const [first, second] of pairsOf(candidates, allPairs)) {
    const shared = await sharedBenchmarks(first, second, options.benchmarks);
    warnings.push(...shared.warnings);
    for (const benchmark of shared.benchmarks) {
      results.push(await compareBenchmark([first, second], benchmark, read));
    }
  }
  warnings.push(...results.flatMap((result) => result.warnings));
  return {
    comparisons: withVerdicts(results, options.correction ?? 'holm'),
    places: candidates.map(({ place: { label, folder } }) => ({ label, folder })),
    warnings: [...new Set(warnings)],
  };
}

/** The last result of a run may be of long before its end. */
function passedOverWarning({ label, folder, passedOver = [] }: EvalPlace): string[] {
  if (passedOver.length === 0) return [];
  const [first = 0, last = first] = [passedOver[0], passedOver.at(-1)];
  const steps = passedOver.length === 1 ? `step ${first}` : `steps ${first} to ${last}`;
  return [
    `${label} is compared at step ${basename(folder)}, the last with a result: its evaluations of ${steps} have none (\`everstep runs scores ${label}\` says why).`,
  ];
}

function pairsOf(candidates: readonly Candidate[], allPairs: boolean): [Candidate, Candidate][] {
  const firsts = allPairs ? candidates : candidates.slice(0, 1);
  return firsts.flatMap((first, index) =>
    candidates.slice(index + 1).map((second): [Candidate, Candidate] => [first, second]),
  );
}

/** The first result is read once, however many it is compared with. */
function remembering<Scores>(
  read: (folder: string, name: string) => Promise<Scores>,
): (folder: string, name: string) => Promise<Scores> {
  const known = new Map<string, Promise<Scores>>();
  return (folder, name) => {
    const key = JSON.stringify([folder, name]);
    const scores = known.get(key) ?? read(folder, name);
    known.set(key, scores);
    return scores;
  };
}

async function compareBenchmark(
  [first, second]: readonly [Candidate, Candidate],
  benchmark: SharedBenchmark,
  read: Readers,
): Promise<PairResult> {
  const labels = { a: first.place.label, b: second.place.label };
  const folders = { a: first.place.folder, b: second.place.folder };
  if (benchmark.isLikelihood) {
    const lossA = { label: labels.a, ...(await read.likelihoods(folders.a, benchmark.inA)) };
    const lossB = { label: labels.b, ...(await read.likelihoods(folders.b, benchmark.inB)) };
    return { ...labels, ...compareLikelihoods(benchmark.inA, lossA, lossB) };
  }
  const a = { label: labels.a, ...(await read.scores(folders.a, benchmark.inA)) };
  const b = { label: labels.b, ...(await read.scores(folders.b, benchmark.inB)) };
  const raw =
    compareScores(a.scores, b.scores, {
      higherIsBetter: a.result.higher_is_better,
      clusters: new Map([...b.clusters, ...a.clusters]),
    }) ?? refuseDisjoint(benchmark.inA, a, b);
  const warnings = warningsOf({ benchmark: benchmark.inA, a, b, sharedCount: raw.n });
  return { ...labels, benchmark: benchmark.inA, raw, warnings };
}

function withVerdicts(results: readonly PairResult[], correction: Correction): DetailedComparison[] {
  const adjust = ADJUST[correction];
  const adjusted = adjust(results.map(({ raw }) => raw.pValue));
  const decisions = adjust(results.map(({ raw }) => raw.decisionPValue));
  return results.map(({ a, b, benchmark, raw }, index) => {
    const pAdjusted = adjusted[index] ?? NaN;
    const pDecision = decisions[index] ?? NaN;
    const facts = { a, b, pAdjusted, pDecision };
    const comparisonCount = correction === 'none' ? 1 : results.length;
    const { n, scoreA, scoreB, difference, standardError, z, pValue, interval } = raw;
    const { mcnemar, wins, losses, ties, flipped, clusterCount, higherIsBetter } = raw;
    return {
      ...{
        a,
        b,
        benchmark,
        higherIsBetter,
        n,
        scoreA,
        scoreB,
        difference,
        standardError,
        z,
        pValue,
        pAdjusted,
        pDecision,
        interval,
      },
      ...{ mcnemar, wins, losses, ties, verdict: verdictOf(raw, { ...facts, comparisonCount }) },
      ...(clusterCount !== undefined && { clusterCount }),
      flipped,
    };
  });
}
