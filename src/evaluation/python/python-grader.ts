import { z } from 'zod';
import { anySignal } from '../../core/concurrency/any-signal';
import { DomainError } from '../../core/errors';
import type { PythonName } from '../../core/python';
import { pythonQueue } from '../../core/python';
import type { Example } from '../example';
import type { Grader, Score } from '../graders/grader';
import type { AskOptions, PythonLink } from './python-link';
import { requireLink } from './python-link';

/** Where completions are judged. */
export interface GradingSite extends Pick<AskOptions, 'onWaiting'> {
  readonly link: PythonLink | undefined;
  readonly signal: AbortSignal;
  /** Bounds the judging of one completion; waiting for a worker does not count. */
  readonly timeoutMs: number;
}

interface Waiting {
  readonly item: GradingItem;
  readonly bytes: number;
  readonly resolve: (score: Score) => void;
  readonly reject: (error: unknown) => void;
}

interface GradingItem {
  readonly completion: string;
  readonly example: Example;
}

/** Few, so that a dead worker's batch is little to judge again, and together far below what a message may have. */
const MOST_ITEMS = 200;
const MOST_BYTES = 400_000;
/** Of a single completion with its example: history holds two copies of each, and refuses 2 MB. */
const LARGEST_BYTES = 1_500_000;
const BATCHES_AT_ONCE = 4;
/** Completions that arrive together are judged together. */
const GATHER_MS = 20;

const Answer = z.object({ scores: z.array(z.unknown()) });
const Judged = z.object({
  value: z.number(),
  answer: z.string().nullable(),
  explanation: z.string().optional(),
});
const Failed = z.object({ error: z.string() });

/** A grader in Python, as declared: it judges once it is opened where there is a way to its worker. */
export function declarePythonGrader(name: PythonName, stamp: string): Grader {
  return {
    name: name.python,
    version: `python:${name.python}@${stamp}`,
    python: name,
    boundsItself: true,
    grade() {
      requireLink(undefined, `Grader "${name.python}"`);
      return { value: 0, answer: null };
    },
  };
}

/** The grader ready to judge; any but one in Python is ready as it is. `close` ends what is still under way. */
export function openGrader(
  grader: Grader,
  site: GradingSite,
): { readonly grader: Grader; readonly close: () => void } {
  const { python } = grader;
  if (!python) return { grader, close: () => undefined };
  const stop = new AbortController();
  const signal = anySignal([site.signal, stop.signal]);
  const batches = new GradingBatches(python, requireLink(site.link, `Grader "${python.python}"`), {
    ...site,
    signal,
  });
  return {
    grader: { ...grader, grade: (completion, example) => batches.add({ completion, example }) },
    close() {
      stop.abort(new Error('no longer needed'));
    },
  };
}

/** Gathers completions into batches, so that judging costs a message for many and not for each. */
class GradingBatches {
  private waiting: Waiting[] = [];
  private underWay = 0;
  private timer: NodeJS.Timeout | null = null;

  constructor(
    private readonly name: PythonName,
    private readonly link: PythonLink,
    private readonly site: Omit<GradingSite, 'link'>,
  ) {}

  add(item: GradingItem): Promise<Score> {
    const bytes = Buffer.byteLength(JSON.stringify(item));
    if (bytes > LARGEST_BYTES) return Promise.reject(this.tooLarge(item.example, bytes));
    return new Promise((resolve, reject) => {
      this.waiting.push({ item, bytes, resolve, reject });
      this.sendSoon();
    });
  }

  private sendSoon(): void {
    if (this.timer !== null || this.underWay >= BATCHES_AT_ONCE || this.waiting.length === 0) return;
    this.timer = setTimeout(() => {
      this.timer = null;
      void this.send(this.takeBatch());
      this.sendSoon();
    }, GATHER_MS);
  }

  private takeBatch(): Waiting[] {
    let [count, bytes] = [0, 0];
    for (const waiting of this.waiting) {
      bytes += waiting.bytes;
      if (count > 0 && (count >= MOST_ITEMS || bytes > MOST_BYTES)) break;
      count += 1;
    }
    return this.waiting.splice(0, count);
  }

  private async send(batch: readonly Waiting[]): Promise<void> {
    this.underWay += 1;
    try {
      const scores = await this.ask(batch.map(({ item }) => item));
      for (const [index, { resolve, reject }] of batch.entries()) {
        const judged = Judged.safeParse(scores[index]);
        if (judged.success) resolve(scoreOf(judged.data));
        else reject(new Error(whyNoScore(scores[index])));
      }
    } catch (error) {
      for (const { reject } of batch) reject(error);
    } finally {
      this.underWay -= 1;
      this.sendSoon();
    }
  }

  private async ask(items: readonly GradingItem[]) {
    const { signal, onWaiting, timeoutMs } = this.site;
    const answer = await this.link.ask(
      {
        activity: 'gradeCompletions',
        taskQueue: pythonQueue(this.name),
        input: { grader: this.name.python, items, timeoutSeconds: timeoutMs / 1000 },
      },
      { signal, ...(onWaiting && { onWaiting }) },
    );
    const parsed = Answer.safeParse(answer);
    if (parsed.success) return parsed.data.scores;
    throw new Error('the Python worker answered without scores; use everstep_worker.py');
  }

  private tooLarge({ id }: Example, bytes: number): DomainError {
    return new DomainError(
      'bad-dataset',
      `Example "${id}" and its completion have ${bytes} bytes, more than the ${LARGEST_BYTES} that can be sent to a grader in Python. Shorten its row, or judge it in TypeScript.`,
      { category: 'user' },
    );
  }
}

function scoreOf({ value, answer, explanation }: z.infer<typeof Judged>): Score {
  return { value, answer, ...(explanation !== undefined && { explanation }) };
}

function whyNoScore(given: unknown): string {
  const failed = Failed.safeParse(given);
  if (failed.success) return failed.data.error;
  const shown = given === undefined ? 'nothing' : JSON.stringify(given).slice(0, 100);
  return `the Python worker returned ${shown}; a score has a number and an answer`;
}
