import { anySignal } from '../../core/concurrency/any-signal';
import type { JudgeSource } from '../../core/benchmark-run';
import type { TellWaiting } from '../../core/concurrency/waiting-reasons';
import { WaitingReasons } from '../../core/concurrency/waiting-reasons';
import { DomainError } from '../../core/errors';
import type { Example } from '../example';
import type { Grader, JudgeMethod, Score } from '../graders/grader';
import type { JudgeAccess } from './judge-access';
import { JudgeDesks } from './judge-desks';
import { JudgePool } from './judge-pool';
import { needsJudge } from './judged-grader';
import { Judgements } from './judgements';
import { majorityOf } from './panel';

/** Where completions are judged by models. */
export interface JudgingSite {
  readonly judges: readonly JudgeSource[] | undefined;
  /** Absent where a program evaluates without a worker. */
  readonly access: JudgeAccess | undefined;
  /** Of the shard. */
  readonly folder: string;
  readonly epoch: number;
  readonly rank: number;
  readonly signal: AbortSignal;
  readonly onWaiting?: TellWaiting;
}

export interface OpenedGrader {
  readonly grader: Grader;
  readonly close: () => Promise<void>;
}

/** The grader ready to judge; one that asks no judges is ready as it is. */
export async function openJudging(grader: Grader, site: JudgingSite): Promise<OpenedGrader> {
  const { judging } = grader;
  if (!judging) return { grader, close: () => Promise.resolve() };
  const { judges, access, folder, epoch, rank } = site;
  if (!judges || judges.length === 0) throw needsJudge(grader.name);
  if (!access) throw noAccess(grader.name);
  const stop = new AbortController();
  const signal = anySignal([site.signal, stop.signal]);
  const waits = new WaitingReasons(site.onWaiting ?? (() => undefined));
  const judgements = await Judgements.open({
    ...{ folder, epoch, signal },
    cacheFolder: access.cacheFolder,
    onFailure: (error) => {
      stop.abort(error);
    },
    onWaiting: waits.part(),
  });
  const pool = new JudgePool(access, signal, waits.part());
  const desks = new JudgeDesks({ pool, judgements, signal, rank });
  return {
    grader: { ...grader, grade: (...asked) => judgeAt({ judging, judges, desks }, ...asked) },
    async close() {
      stop.abort(new Error('no longer needed'));
      await pool.close();
      await judgements.close();
    },
  };
}

/** Who judges, and how they are asked. */
export interface JudgeBench {
  readonly judging: JudgeMethod;
  readonly judges: readonly JudgeSource[];
  readonly desks: JudgeDesks;
}

export async function judgeAt(
  { judging, judges, desks }: JudgeBench,
  completion: string,
  example: Example,
): Promise<Score> {
  const votes = await Promise.all(
    judges.map((source) => judging.vote(desks.deskOf(source, example), completion, example)),
  );
  return judging.combine === undefined ? majorityOf(votes) : judging.combine(votes);
}

function noAccess(name: string): DomainError {
  return new DomainError(
    'bad-config',
    `${name} is judged by a model, which only evaluations on workers reach.`,
  );
}
