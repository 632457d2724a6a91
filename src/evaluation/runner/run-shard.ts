import { setMaxListeners } from 'node:events';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { ShardCounts } from '../../core/benchmark-run';
import type { Journal } from '../../stores/fenced-journal';
import { openJournal } from '../../stores/fenced-journal';
import { JournalFence } from '../../stores/journal-fence';
import { Turns } from '../turns';
import { DeadlySteps } from './deadly-steps';
import { Intake } from './intake';
import { RowWriter } from './row-writer';
import { runEpisode } from './run-episode';
import type { EpisodeSite } from './sample-turn';
import type { GradeRow, SampleRow } from './shard-rows';
import type { ExampleUnit, ShardTask } from './shard-task';
import { unitsOf } from './shard-task';
import type { Tallied } from './tally';
import { countingOf, Tally } from './tally';

interface ShardJournals {
  readonly samples: Journal<SampleRow>;
  readonly grades: Journal<GradeRow>;
  /** Units that this grader has judged, and what counts of them. */
  readonly judged: Map<string, Tallied>;
  /** Completions of units that are not. */
  readonly known: Map<string, SampleRow>;
}

const SAMPLES = 'samples.jsonl';
const GRADES = 'grades.jsonl';
/** Work that does not listen to being called off is left to itself after this long. */
const CALL_OFF_MS = 1000;
/** One unit is kept ready for so many that are asked, and some in any case. */
const PLACES_A_READY = 8;
const LEAST_READY = 8;
/** Others that share the thread get it at least this often. */
const TURN_MS = 4;

/**
 * Samples and judges examples, journalling each completion and each judgement.
 *
 * Repeating it asks only for what is missing, and tries again what failed. Completions are found again by the weights,
 * the prompt and the sampling parameters, so that those of another model are never used. Throws what says nothing of an
 * example: a service that is away, a later attempt that has taken over.
 */
export async function runShard(task: ShardTask): Promise<ShardCounts> {
  const stop = new AbortController();
  setMaxListeners(0, stop.signal);
  const onAbort = () => {
    stop.abort(task.signal.reason);
  };
  task.signal.addEventListener('abort', onAbort, { once: true });
  task.signal.throwIfAborted();
  const journals = await openJournals(task);
  try {
    const steps = await DeadlySteps.open(task.folder);
    try {
      return await runUnits(task, { ...journals, steps }, stop);
    } finally {
      await steps.end();
    }
  } finally {
    task.signal.removeEventListener('abort', onAbort);
    await closeBoth(journals);
  }
}

/** Throws `superseded` where a later attempt has taken over the journals of a shard. */
export function verifyShard(folder: string, epoch: number): void {
  for (const name of [SAMPLES, GRADES]) new JournalFence(join(folder, name), epoch).check();
}

async function runUnits(
  task: ShardTask,
  journals: ShardJournals & { readonly steps: DeadlySteps },
  stop: AbortController,
): Promise<ShardCounts> {
  const { signal } = stop;
  const options = {
    signal,
    onFailure: (error: unknown) => {
      stop.abort(error);
    },
  };
  const samples = new RowWriter(journals.samples, { ...options, onWaiting: task.waits?.part() });
  // A judgement without its completion would be taken for whole after a kill.
  const grades = new RowWriter(journals.grades, {
    ...{ ...options, after: samples },
    onWaiting: task.waits?.part(),
  });
  const intake = new Intake(Math.max(LEAST_READY, Math.ceil(task.concurrency / PLACES_A_READY)));
  const { steps, known } = journals;
  const kept = async () => {
    await Promise.all([samples.flush(), grades.flush()]);
  };
  const site = siteOf(task, { ...{ samples, known, signal, intake, steps }, kept });
  const tally = new Tally(task);
  try {
    await untilDone(startLoops(task, { stop, intake, run: runUnit }), signal);
  } finally {
    await Promise.all([samples.end(), grades.end()]);
  }
  signal.throwIfAborted();
  // An attempt that was overtaken while it finished must not go on to write results.
  journals.samples.verify();
  journals.grades.verify();
  return tally.counts;

  async function runUnit(unit: ExampleUnit): Promise<void> {
    const judged = journals.judged.get(unit.keys.grade);
    if (judged) {
      tally.add(unit, judged);
      return;
    }
    intake.begin(unit);
    try {
      const row = await runEpisode(site, unit);
      grades.add(row);
      tally.add(unit, countingOf(row));
    } finally {
      intake.leave(unit);
    }
  }
}

function siteOf(
  task: ShardTask,
  parts: Pick<EpisodeSite, 'known' | 'signal' | 'intake'> & {
    readonly samples: RowWriter<SampleRow>;
    readonly steps: DeadlySteps;
    /** Settles when all there is so far is journalled. */
    readonly kept: () => Promise<void>;
  },
): EpisodeSite {
  const { samples, known, signal, intake, steps, kept } = parts;
  const turns = new Turns();
  let turnBeganAt = performance.now();
  return {
    task,
    signal,
    known,
    intake,
    keep: (row) => {
      samples.add(row);
    },
    mayAsk() {
      samples.verify();
      return samples.whenRoom();
    },
    runForeign: (key, subject, step) => steps.run(key, subject, step),
    takeCare: steps.isCareful ? (key, step) => steps.take(key, kept, step) : null,
    takeTurn() {
      if (performance.now() - turnBeganAt < TURN_MS) return null;
      return turns.next().then(() => {
        turnBeganAt = performance.now();
      });
    },
  };
}

interface UnitLoops {
  readonly stop: AbortController;
  readonly intake: Intake;
  readonly run: (unit: ExampleUnit) => Promise<void>;
}

/**
 * More units at a time than may be asked for, so that the next is asked while an answer waits to be judged; permits keep
 * the number of requests. The first failure calls off the others.
 */
function startLoops(
  { subject, examples, concurrency }: ShardTask,
  { stop, intake, run }: UnitLoops,
): Promise<unknown> {
  const units = unitsOf(subject, examples);
  const count = Math.min(concurrency * 2, examples.length * subject.numSamples);
  const loop = async () => {
    try {
      for (;;) {
        for (let room = intake.whenRoom(); room !== null; room = intake.whenRoom()) await room;
        if (stop.signal.aborted) return;
        const next = units.next();
        if (next.done === true) return;
        await run(next.value);
      }
    } catch (error) {
      stop.abort(error);
    } finally {
      // Those that wait for room would wait for ever once nothing is begun any more.
      intake.wakeOne();
    }
  };
  return Promise.all(Array.from({ length: count }, loop));
}

async function untilDone(loops: Promise<unknown>, signal: AbortSignal): Promise<void> {
  const calledOff = new Promise<void>((resolve) => {
    const giveUp = () => void delay(CALL_OFF_MS).then(resolve);
    if (signal.aborted) giveUp();
    else signal.addEventListener('abort', giveUp, { once: true });
  });
  await Promise.race([loops, calledOff]);
}

/** A judgement whose completions are damaged is no judgement: it is let go, and its unit asked again. */
async function openJournals(task: ShardTask): Promise<ShardJournals> {
  const opened = await openBoth(task, new Set());
  const { unfounded } = opened;
  if (unfounded.size === 0) return opened.journals;
  await closeBoth(opened.journals);
  return (await openBoth(task, unfounded)).journals;
}

interface OpenedJournals {
  readonly journals: ShardJournals;
  /** Keys of judgements that rest on completions which are not there. */
  readonly unfounded: ReadonlySet<string>;
}

async function openBoth(task: ShardTask, dropped: ReadonlySet<string>): Promise<OpenedJournals> {
  const { folder, epoch } = task;
  let counting: ReadonlySet<string> | null = null;
  const judged: ShardJournals['judged'] = new Map();
  /** Judgements by the completions they rest on. */
  const resting = new Map<string, string>();
  const known = new Map<string, SampleRow>();
  const keyOf = ({ key }: { readonly key: string }) => key;
  const grades = await openJournal<GradeRow>({
    path: join(folder, GRADES),
    epoch,
    keyOf,
    remember: 1,
    keep(row) {
      if (row.error !== undefined || dropped.has(row.key)) return false;
      counting ??= gradeKeysOf(task);
      // What another grader said stays beside what this one says.
      if (!counting.has(row.key)) return true;
      judged.set(row.key, countingOf(row));
      for (const key of row.samples) resting.set(key, row.key);
      return true;
    },
  });
  try {
    const samples = await openJournal<SampleRow>({
      path: join(folder, SAMPLES),
      epoch,
      keyOf,
      remember: 1,
      keep(row) {
        if (!resting.delete(row.key)) known.set(row.key, row);
        return true;
      },
    });
    return { journals: { samples, grades, judged, known }, unfounded: new Set(resting.values()) };
  } catch (error) {
    await grades.close();
    throw error;
  }
}

function gradeKeysOf({ subject, examples }: ShardTask): ReadonlySet<string> {
  return new Set([...unitsOf(subject, examples)].map(({ keys }) => keys.grade));
}

async function closeBoth({ samples, grades }: ShardJournals): Promise<void> {
  await samples.close();
  await grades.close();
}
