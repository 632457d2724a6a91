import { join } from 'node:path';
import { DomainError } from '../../core/errors';
import type { StoredResult, StoredTrajectory } from '../../stores/eval-store';
import { benchmarkFolder, isTruncated, loadResult, streamTrajectories } from '../../stores/eval-store';

/** The score of each example of one benchmark, averaged over its samples. */
export interface ExampleScores {
  readonly result: StoredResult;
  readonly scores: ReadonlyMap<string, number>;
  /** What examples hang on together, by example; empty where nothing says so. */
  readonly clusters: ReadonlyMap<string, string>;
  /** Examples with a sample that has no whole answer, each counted once, by the first of these that it has. */
  readonly incomplete: Readonly<Record<'failed' | 'cut', number>>;
  /** Examples with a sample whose verdict could not be read, and those of them that have no score for it. */
  readonly unscored: { readonly count: number; readonly wholeCount: number };
  /** Whether such samples are left out; else they count as scored. */
  readonly isCompletedOnly: boolean;
  readonly malformedCount: number;
}

export interface ScoreOptions {
  readonly completedOnly: boolean;
}

/** What a sample can lack: it failed; it was cut at its token limit; no judge's verdict on it could be read, so that it has no score. */
type Lack = 'failed' | 'cut' | 'unscored';

interface Tally {
  total: number;
  count: number;
  readonly lacks: Set<Lack>;
  cluster?: string;
}

/** Reads one benchmark of a folder. Memory grows with the number of examples, not with the length of their texts. */
export async function readExampleScores(
  folder: string,
  benchmark: string,
  { completedOnly }: ScoreOptions,
): Promise<ExampleScores> {
  const result = await loadResult(folder, benchmark);
  if (result === null) {
    const file = join(folder, benchmark, 'result.json');
    throw new DomainError('bad-dataset', `${file} cannot be read. Evaluate again to write it anew.`);
  }
  const tallies = new Map<string, Tally>();
  let malformedCount = 0;
  let rowCount = 0;
  const onMalformed = () => malformedCount++;
  for (const trajectory of streamTrajectories(benchmarkFolder(folder, benchmark), { onMalformed })) {
    rowCount++;
    addTo(tallies, trajectory, completedOnly);
  }
  refuseTorn(join(folder, benchmark), result, { rowCount, exampleCount: tallies.size });
  const counted = [...tallies].filter(([, { count }]) => count > 0);
  return {
    result,
    scores: new Map(counted.map(([id, { total, count }]) => [id, total / count])),
    clusters: new Map(
      counted.flatMap(([id, { cluster }]) => (cluster === undefined ? [] : [[id, cluster] as const])),
    ),
    ...countLacks([...tallies.values()]),
    malformedCount,
    isCompletedOnly: completedOnly,
  };
}

function addTo(tallies: Map<string, Tally>, trajectory: StoredTrajectory, completedOnly: boolean): void {
  const tally = tallies.get(trajectory.example_id) ?? { total: 0, count: 0, lacks: new Set() };
  tallies.set(trajectory.example_id, tally);
  const cluster = trajectory.logs['cluster'];
  if (typeof cluster === 'string') tally.cluster = cluster;
  const lack = lackOf(trajectory);
  if (lack !== null) tally.lacks.add(lack);
  if (lack === 'unscored' || (lack !== null && completedOnly)) return;
  tally.total += trajectory.reward;
  tally.count++;
}

function lackOf(trajectory: StoredTrajectory): Lack | null {
  if (trajectory.metrics['unparsed'] === 1) return 'unscored';
  if (trajectory.error !== null) return 'failed';
  return isTruncated(trajectory) ? 'cut' : null;
}

function countLacks(tallies: readonly Tally[]): Pick<ExampleScores, 'incomplete' | 'unscored'> {
  const failed = tallies.filter(({ lacks }) => lacks.has('failed'));
  const cut = tallies.filter(({ lacks }) => lacks.has('cut') && !lacks.has('failed'));
  const unscored = tallies.filter(({ lacks }) => lacks.has('unscored'));
  return {
    incomplete: { failed: failed.length, cut: cut.length },
    unscored: { count: unscored.length, wholeCount: unscored.filter(({ count }) => count === 0).length },
  };
}

/** Fewer rows than the result was made of would compare another score than the one that was reported. */
function refuseTorn(
  folder: string,
  { num_examples }: StoredResult,
  { rowCount, exampleCount }: { readonly rowCount: number; readonly exampleCount: number },
): void {
  const file = join(folder, 'trajectories.jsonl');
  if (rowCount === 0) {
    throw new DomainError(
      'bad-dataset',
      `${file} has no trajectories, so nothing can be paired by example. Evaluate again, saving them.`,
    );
  }
  if (rowCount >= num_examples || exampleCount >= num_examples) return;
  throw new DomainError(
    'bad-dataset',
    `${file} has ${rowCount} readable trajectories, and its result.json counts ${num_examples} examples: it is torn. ` +
      'Evaluate again to complete it.',
  );
}
