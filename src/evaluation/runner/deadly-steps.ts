import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { Slots } from '../../core/concurrency/slots';
import { untilAborted } from '../../core/concurrency/until-aborted';
import { DomainError } from '../../core/errors';
import { asSentence } from '../../core/sentences';
import { readJsonIfThere, writeJson, writeJsonNow } from '../../stores/whole-file';
import { keepNote, runForeign } from '../foreign-work';

/** `attempt.json` of a shard's folder, while it runs: what is found there was left by a process that died. */
const Mark = z.object({
  /** Attempts in a row that ended without a word; one less while the process is known to end because of others. */
  deaths: z.int().min(-1),
  /** What alone was judged when the process died. */
  judging: z.string().nullable(),
  /** How often a process died with each. */
  counts: z.record(z.string(), z.number()),
  /** Steps that processes are known to have ended because of: how often, and how the last one did. */
  blamed: z.record(z.string(), z.object({ count: z.int(), cause: z.string() })).default({}),
});
type AttemptMark = z.infer<typeof Mark>;

const CLEAN: AttemptMark = { deaths: 0, judging: null, counts: {}, blamed: {} };

/** A worker may be killed for reasons of its own. */
const DEATHS_BEFORE_CARE = 2;
const MOST_DEATHS = 3;
const MOST_BLAMED = 2;

/** Of all shards of this process: with two at work at once it would not show whose step its end was. */
const careful = new Slots(1);

/**
 * Finds the step of a grader or an environment that takes the worker's process down with it, as code of a plug-in can.
 *
 * After some deaths in a row steps are taken one by one, each noted before; one with which the process died three times is given up.
 * What else was asked and judged is kept meanwhile, so that whoever shares the worker gets on.
 */
export class DeadlySteps {
  private turn: Promise<unknown> = Promise.resolve();
  private readonly note = {
    excuse: () => {
      writeJsonNow(this.path, { ...this.mark, deaths: this.mark.deaths - 1, judging: null });
    },
  };
  private readonly ending = new AbortController();
  private readonly dropNote = keepNote(this.note);

  private constructor(
    private readonly path: string,
    private mark: AttemptMark,
  ) {}

  static async open(folder: string): Promise<DeadlySteps> {
    const path = join(folder, 'attempt.json');
    const found = Mark.safeParse(await readJsonIfThere(path));
    const steps = new DeadlySteps(path, found.success ? afterDeath(found.data) : CLEAN);
    await writeJson(path, steps.mark);
    return steps;
  }

  /** Whether steps are taken one by one. */
  get isCareful(): boolean {
    return this.mark.deaths >= DEATHS_BEFORE_CARE;
  }

  /** Takes a step of code that is not ours, among the others. Throws where its process ended because of it too often. */
  async run<Result>(key: string, subject: string, step: () => Promise<Result>): Promise<Result> {
    const { count, cause } = this.mark.blamed[key] ?? { count: 0, cause: '' };
    if (count >= MOST_BLAMED) throw tooOften(count, cause);
    const blame = (why: string) => {
      const blamed = { ...this.mark.blamed, [key]: { count: count + 1, cause: why } };
      writeJsonNow(this.path, { ...this.mark, blamed });
    };
    return runForeign({ subject, counts: { note: this.note, blame } }, step);
  }

  /** Takes a step after all others, once what it rests on is `kept`. Throws where it has ended its process too often. */
  take<Result>(key: string, kept: () => Promise<void>, step: () => Promise<Result>): Promise<Result> {
    const taken = this.turn.then(() => this.takeAlone(key, kept, step));
    this.turn = taken.catch(() => undefined);
    return taken;
  }

  /** The attempt has come to an end of its own. What cannot be removed counts as one more death, and no more than that. */
  async end(): Promise<void> {
    this.ending.abort(new Error('The attempt is over.'));
    this.dropNote();
    await rm(this.path, { force: true }).catch(() => undefined);
  }

  private async takeAlone<Result>(
    key: string,
    kept: () => Promise<void>,
    step: () => Promise<Result>,
  ): Promise<Result> {
    if ((this.mark.counts[key] ?? 0) >= MOST_DEATHS) throw tooDeadly();
    await kept();
    // A step that never ends has its turn no longer than its attempt.
    return careful.run(() => untilAborted(this.takeNoted(key, step), this.ending.signal));
  }

  private async takeNoted<Result>(key: string, step: () => Promise<Result>): Promise<Result> {
    await this.noteJudging(key);
    try {
      return await step();
    } finally {
      if (!this.ending.signal.aborted) await this.noteJudging(null);
    }
  }

  private async noteJudging(judging: string | null): Promise<void> {
    this.mark = { ...this.mark, judging };
    await writeJson(this.path, this.mark);
  }
}

function afterDeath({ deaths, judging, counts, blamed }: AttemptMark): AttemptMark {
  const known = judging === null ? counts : { ...counts, [judging]: (counts[judging] ?? 0) + 1 };
  return { deaths: deaths + 1, judging: null, counts: known, blamed };
}

class TooDeadly extends DomainError {}

/** Whether a step was given up because the process died with it. */
export function isDeadly(error: unknown): boolean {
  return error instanceof TooDeadly;
}

function tooDeadly(): DomainError {
  return new TooDeadly(
    'bad-plugin',
    `the worker's process died ${MOST_DEATHS} times while this alone was judged or played. Look for too much memory in its code, for what kills the process, or for what keeps it from all else, as execSync without a time limit does; the worker's log says which.`,
  );
}

function tooOften(count: number, cause: string): DomainError {
  return new TooDeadly(
    'bad-plugin',
    `the worker's process was ended ${count} times because of this: ${asSentence(cause)}`,
  );
}
