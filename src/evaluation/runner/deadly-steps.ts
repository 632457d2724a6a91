import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { DomainError } from '../../core/errors';
import { readJsonIfThere, writeJson } from '../../stores/whole-file';

/** `attempt.json` of a shard's folder, while it runs: what is found there was left by a process that died. */
const Mark = z.object({
  /** Attempts in a row that ended without a word. */
  deaths: z.int().min(0),
  /** What alone was judged when the process died. */
  judging: z.string().nullable(),
  /** How often a process died with each. */
  counts: z.record(z.string(), z.number()),
});
type AttemptMark = z.infer<typeof Mark>;

const CLEAN: AttemptMark = { deaths: 0, judging: null, counts: {} };

/** A worker may be killed for reasons of its own. */
const DEATHS_BEFORE_CARE = 2;
const MOST_DEATHS = 3;

/**
 * Finds the step of a grader or an environment that takes the worker's process down with it, as code of a plug-in can.
 *
 * After some deaths in a row steps are taken one by one, each noted before; one with which the process died three times is given up.
 * What else was asked and judged is kept meanwhile, so that whoever shares the worker gets on.
 */
export class DeadlySteps {
  private turn: Promise<unknown> = Promise.resolve();

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

  /** Takes a step after all others, once what it rests on is `kept`. Throws where it has ended its process too often. */
  take<Result>(key: string, kept: () => Promise<void>, step: () => Promise<Result>): Promise<Result> {
    const taken = this.turn.then(() => this.takeAlone(key, kept, step));
    this.turn = taken.catch(() => undefined);
    return taken;
  }

  /** The attempt has come to an end of its own. What cannot be removed counts as one more death, and no more than that. */
  async end(): Promise<void> {
    await rm(this.path, { force: true }).catch(() => undefined);
  }

  private async takeAlone<Result>(
    key: string,
    kept: () => Promise<void>,
    step: () => Promise<Result>,
  ): Promise<Result> {
    if ((this.mark.counts[key] ?? 0) >= MOST_DEATHS) throw tooDeadly();
    await kept();
    await this.note(key);
    try {
      return await step();
    } finally {
      await this.note(null);
    }
  }

  private async note(judging: string | null): Promise<void> {
    this.mark = { ...this.mark, judging };
    await writeJson(this.path, this.mark);
  }
}

function afterDeath({ deaths, judging, counts }: AttemptMark): AttemptMark {
  const known = judging === null ? counts : { ...counts, [judging]: (counts[judging] ?? 0) + 1 };
  return { deaths: deaths + 1, judging: null, counts: known };
}

class TooDeadly extends DomainError {}

/** Whether a step was given up because the process died with it. */
export function isDeadly(error: unknown): boolean {
  return error instanceof TooDeadly;
}

function tooDeadly(): DomainError {
  return new TooDeadly(
    'bad-plugin',
    `the worker's process died ${MOST_DEATHS} times while this alone was judged or played. Look for process.exit, uncaught errors in timers, or too much memory in its code.`,
  );
}
