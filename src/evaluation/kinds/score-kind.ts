import type { CellScore } from '../../core/run';
import { meanOf } from '../../core/statistics/mean';
import { meanInterval, withinValues } from '../../core/statistics/mean-interval';
import type { Interval } from '../../core/statistics/wilson-interval';
import { wilsonInterval } from '../../core/statistics/wilson-interval';
import type { ResultIdentity, StoredResult, StoredTrajectory } from '../../stores/eval-store';
import { writeBenchmark } from '../../stores/eval-store';
import { digestOf } from '../digest';
import type { JournalledWork } from '../evaluators/journalled-work';
import { withJournal } from '../evaluators/journalled-work';
import type { Row } from '../graders/row-grader';
import type { KindDependencies, KindResult, KindRow, Reduction } from './evaluate-kind';
import { evaluateKind } from './evaluate-kind';
import type { Kind } from './kind';

export interface KindWork {
  /** The evaluator's or benchmark's name. */
  readonly name: string;
  /** Gets `journal/answers.jsonl`, `trajectories.jsonl` and `result.json`. */
  readonly folder: string;
  /** Rises with every attempt that may write there. */
  readonly epoch: number;
  readonly rows: readonly Row[];
  readonly indices: readonly number[];
  readonly reduce: Exclude<Reduction, 'none'>;
  readonly concurrency: number;
  readonly signal: AbortSignal;
  /** Which weights are measured. */
  readonly weights: string;
  readonly identity: ResultIdentity;
  readonly seconds: () => number;
  /** After each answer. */
  readonly onAnswer: (count: number) => void;
  /** Hears that answers wait for room. */
  readonly onWaiting?: JournalledWork['onWaiting'];
}

export interface ScoredKind {
  readonly result: StoredResult;
  readonly score: CellScore;
}

/** Measures a task and writes its files as those of benchmarks are. An attempt that is repeated asks only what is missing. */
export async function scoreKind(site: KindDependencies, kind: Kind, work: KindWork): Promise<ScoredKind> {
  const { rows, indices, reduce, concurrency, signal, weights } = work;
  let answerCount = 0;
  const measured = await withJournal<KindRow, KindResult>(work, 'answers', (journal) =>
    evaluateKind(site, kind, {
      ...{ rows, indices, reduce, concurrency, signal, identity: weights },
      journal: {
        get: (key) => journal.get(key),
        verify: () => {
          journal.verify();
        },
        async appendWhenRoom(row, options) {
          const isNew = await journal.appendWhenRoom(row, options);
          work.onAnswer((answerCount += 1));
          return isNew;
        },
      },
    }),
  );
  const result = resultOf(kind, measured, work);
  await writeBenchmark(work.folder, result, trajectoriesOf(site, kind, { measured, work }));
  const { metric, higherIsBetter } = kind;
  const { stderr, num_examples: n } = result;
  const key = `test/${work.name}/${metric}`;
  return { result, score: { metric, key, value: measured.value, stderr, n, higherIsBetter } };
}

/** What a result was made of, as far as the task decides it. */
export function kindIdentity(
  kind: Kind,
  { rows, indices, reduce }: Pick<KindWork, 'rows' | 'indices' | 'reduce'>,
): Pick<ResultIdentity, 'benchmarkVersion' | 'dataHash' | 'graderVersion' | 'sampling'> {
  return {
    benchmarkVersion: kind.version,
    dataHash: digestOf(indices.map((index) => rows[index])),
    graderVersion: graderVersionOf(kind),
    sampling: { kind: kind.kind, reduce },
  };
}

function graderVersionOf({ kind, name, codeHash }: Kind): string {
  return codeHash === undefined ? `${kind}@1` : `${kind}@1 ${name}@${codeHash.slice(0, 16)}`;
}

/** Examples that could not be asked count 0, as those cut at a limit do in benchmarks. */
function resultOf(
  kind: Kind,
  { value, perExample }: KindResult,
  { name, identity, reduce, seconds }: KindWork,
): StoredResult {
  const known = perExample.filter((each) => each !== null);
  const score = value ?? 0;
  return {
    name,
    score,
    ...spreadOf(perExample, { value, isMean: kind.higherIsBetter && reduce === 'mean' }),
    num_examples: perExample.length,
    num_completed: known.length,
    num_correct: kind.higherIsBetter ? known.filter((each) => each > 0).length : 0,
    num_errors: 0,
    num_truncated: perExample.length - known.length,
    metrics: value === null ? {} : { [kind.metric]: value },
    time_seconds: seconds(),
    pass_at_k: {},
    identity,
    ...(!kind.higherIsBetter && { higher_is_better: false }),
  };
}

interface KindValue {
  readonly value: number | null;
  readonly isMean: boolean;
}

/** Only of a mean over examples is it known how far it may be off. */
function spreadOf(
  perExample: KindResult['perExample'],
  { value, isMean }: KindValue,
): Pick<StoredResult, 'stderr' | 'ci' | 'score_completed'> {
  if (!isMean) return { stderr: null, ci: null, score_completed: value };
  const all = meanOf(perExample.map((each) => each ?? 0));
  const completed = meanOf(perExample.filter((each) => each !== null))?.mean ?? null;
  const stderr = all?.standardError ?? null;
  if (all === null || stderr === null) return { stderr: null, ci: null, score_completed: completed };
  return { stderr, ci: intervalOf(all.mean, stderr, perExample), score_completed: completed };
}

function intervalOf(
  mean: number,
  standardError: number,
  perExample: KindResult['perExample'],
): Interval | null {
  const values = perExample.map((each) => each ?? 0);
  if (values.every((each) => each === 0 || each === 1))
    return wilsonInterval(values.filter((each) => each === 1).length, values.length);
  const interval = meanInterval({ mean, standardError, clusterCount: values.length, isBinary: false });
  return withinValues(interval, values);
}

interface Measured {
  readonly measured: KindResult;
  readonly work: KindWork;
}

function trajectoriesOf(
  { tokenizer }: KindDependencies,
  kind: Kind,
  { measured: { perExample, intermediates }, work }: Measured,
): StoredTrajectory[] {
  return perExample.map((value, index) => {
    const { tokens = [], mask = [], logprobs = null } = intermediates[index] ?? {};
    const isJudged = (_: number, place: number) => mask[place] === true;
    const turn = (role: 'user' | 'assistant', part: readonly number[]) => ({
      role,
      content: tokenizer.decode(part),
      token_count: part.length,
      metadata: {},
    });
    return {
      idx: index,
      benchmark: work.name,
      example_id: `${kind.name}_${index}`,
      turns: [
        turn(
          'user',
          tokens.filter((token, place) => !isJudged(token, place)),
        ),
        turn('assistant', tokens.filter(isJudged)),
      ],
      reward: value ?? 0,
      metrics: value === null ? { context_overflow: 1 } : { [kind.metric]: value },
      logs: logprobs === null ? {} : { logprobs },
      error: null,
      time_seconds: 0,
    };
  });
}
