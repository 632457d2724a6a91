import { join } from 'node:path';
import { DomainError } from '../../core/errors';
import type { ResultIdentity, StoredResult } from '../../stores/eval-store';
import { writeJson } from '../../stores/whole-file';
import type { Example } from '../example';
import type { LineFile } from './line-file';
import { ScoreTotals } from './score-totals';
import { ShardRecord } from './shard-journals';
import type { ExampleSubject } from './shard-task';
import { unitsOf } from './shard-task';
import type { JournalledUnit, TrajectoryContext } from './trajectory-of';
import { trajectoryOf } from './trajectory-of';
import { writeLines } from './write-lines';

/** A shard that is done, as it lies on the disk. */
export interface FinishedShard {
  readonly folder: string;
  readonly examples: Iterable<Example>;
}

export interface ResultTask extends Pick<TrajectoryContext, 'promptText'> {
  readonly name: string;
  /** Gets `trajectories.jsonl` and `result.json`. */
  readonly folder: string;
  readonly subject: ExampleSubject;
  readonly shards: Iterable<FinishedShard> | AsyncIterable<FinishedShard>;
  readonly identity: ResultIdentity;
  /** Where its answers and judgements come from, where that is not this evaluation alone. */
  readonly origin?: Pick<StoredResult, 'regraded' | 'answers'>;
  readonly seconds: () => number;
  /** Throws where these results must not be written any more. */
  readonly verify: () => void;
}

/** The journal of a shard that was done is not whole any more. */
export class DamagedShardError extends DomainError {
  constructor(
    readonly folder: string,
    name: string,
    lacks: string,
  ) {
    super(
      'store-conflict',
      `${join(folder, name)} is damaged: it lacks ${lacks}. Give the same command again: what its copy beside it still has is taken from there, and the rest is asked for again.`,
    );
  }
}

/**
 * Makes a benchmark's files from its journals, in the order of its examples; however many there are, those of one shard
 * are in memory. The result comes last: where it is, the trajectories are whole.
 */
export async function writeResult(task: ResultTask): Promise<StoredResult> {
  const { name, folder, subject, identity, origin } = task;
  const totals = new ScoreTotals(subject.numSamples, subject.grader.total !== undefined);
  const writeTo = (file: LineFile) => writeTrajectories(task, totals, file);
  await writeLines(join(folder, 'trajectories.jsonl'), writeTo, task.verify);
  const { failure } = totals;
  if (failure !== null) throw new DomainError('request-failed', failure);
  const facts = { name, identity, seconds: task.seconds(), grader: subject.grader };
  const result = { ...totals.result(facts), ...origin };
  task.verify();
  await writeJson(join(folder, 'result.json'), result);
  return result;
}

async function writeTrajectories(task: ResultTask, totals: ScoreTotals, file: LineFile): Promise<void> {
  const { name, subject, promptText } = task;
  const { numSamples, systemPrompt } = subject;
  const context: TrajectoryContext = {
    benchmark: name,
    numSamples,
    ...(systemPrompt !== undefined && { systemPrompt }),
    ...(promptText && { promptText }),
  };
  let index = 0;
  for await (const shard of task.shards) {
    const record = await ShardRecord.open(shard.folder);
    try {
      for (const journalled of journalledUnits(shard, record, subject)) {
        const trajectory = trajectoryOf(index++, journalled, context);
        totals.add(journalled, trajectory.error);
        file.add(JSON.stringify(trajectory));
        await file.whenWritten();
      }
    } finally {
      record.close();
    }
  }
}

function* journalledUnits(
  { folder, examples }: FinishedShard,
  record: ShardRecord,
  subject: ExampleSubject,
): Generator<JournalledUnit> {
  for (const unit of unitsOf(subject, examples)) {
    const grade = record.grade(unit.keys.grade);
    if (!grade) throw new DamagedShardError(folder, 'grades.jsonl', 'judgements');
    const samples = record.samplesOf(grade);
    if (samples.length < grade.samples.length) {
      throw new DamagedShardError(folder, 'samples.jsonl', 'completions that were judged');
    }
    yield { unit, grade, samples };
  }
}
