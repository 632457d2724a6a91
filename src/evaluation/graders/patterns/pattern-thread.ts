import { Worker } from 'node:worker_threads';
import { DomainError } from '../../../core/errors';
import { TooLongToRead } from '../../../sandboxes/read-within';
import { PATIENCE, threadTime, watchTime } from '../../../sandboxes/used-time';

/** A regular expression that a row brought along, and what it is tried on. */
export interface PatternQuestion {
  readonly source: string;
  readonly flags: string;
  readonly text: string;
  /** All matches are counted; without it the first one is enough. */
  readonly isCounted: boolean;
}

export interface PatternMatches {
  readonly count: number;
  /** The first match and its groups. */
  readonly first: readonly (string | undefined)[] | null;
}

/** With the processor time that it took. */
interface TimedMatches extends PatternMatches {
  readonly usedMs: number;
}

type Reply = PatternMatches | { readonly error: string } | { readonly thread: string | null };

interface Task {
  readonly question: PatternQuestion;
  /** What is left of the time for all questions of a row; less than one question may take. */
  readonly leftMs: number;
  readonly resolve: (matches: TimedMatches) => void;
  readonly reject: (error: Error) => void;
}

const LIMIT_MS = 2000;
const MEMORY_MB = 256;
const LONGEST_SHOWN = 120;

/** A text and no file of its own, so that it starts in the same way from sources and from a build. */
const PROGRAM = `
const { parentPort } = require('node:worker_threads');
const ownThread = () => {
  try {
    return require('node:fs').readlinkSync('/proc/thread-self').split('/').at(-1);
  } catch {
    return null;
  }
};
parentPort.postMessage({ thread: ownThread() });
parentPort.on('message', ({ source, flags, text, isCounted }) => {
  try {
    if (!isCounted) {
      const first = new RegExp(source, flags.replace('g', '')).exec(text);
      parentPort.postMessage({ count: first ? 1 : 0, first: first && [...first] });
      return;
    }
    let count = 0;
    for (const match of text.matchAll(new RegExp(source, flags))) count += match ? 1 : 0;
    parentPort.postMessage({ count, first: null });
  } catch (error) {
    parentPort.postMessage({ error: String(error) });
  }
});`;

/**
 * Tries regular expressions in a thread of their own, one after another, each for a limited time of a processor: some take time that
 * doubles with every character, and nothing tells them from the others beforehand. The thread that is stuck is ended, and
 * the next question starts another. An idle one keeps no process alive.
 */
export class PatternThread {
  private worker: Worker | null = null;
  private isReady = false;
  private current: Task | null = null;
  /** As the system numbers it; null where it does not tell. */
  private thread: string | null = null;
  /** What it had run when the question before was answered: the system may tell of the end of one only at the next. */
  private seenMs: number | null = null;
  private askedAt = 0;
  private stopWatching: () => void = () => undefined;
  private readonly waiting: Task[] = [];

  constructor(private readonly limitMs = LIMIT_MS) {}

  /** Throws a TooLongToRead where it takes all of `leftMs` that one question may take. */
  ask(question: PatternQuestion, leftMs = Infinity): Promise<TimedMatches> {
    return new Promise((resolve, reject) => {
      this.waiting.push({ question, leftMs, resolve, reject });
      this.next();
    });
  }

  private next(): void {
    if (this.current || this.waiting.length === 0) return;
    const worker = (this.worker ??= this.start());
    worker.ref();
    if (!this.isReady) return;
    this.current = this.waiting.shift() ?? null;
    this.askedAt = performance.now();
    worker.postMessage(this.current?.question);
    const { leftMs = Infinity } = this.current ?? {};
    const patienceMs = this.limitMs * PATIENCE;
    const end = (after: string) => () => {
      this.fail(worker, (question) => endless(question, after));
    };
    this.stopWatching = watchTime({
      ...{ limitMs: Math.min(leftMs, this.limitMs), patienceMs, usedMs: () => this.usedMs() },
      onLimit:
        leftMs < this.limitMs
          ? () => {
              this.fail(worker, () => new TooLongToRead());
            }
          : end(`${this.limitMs / 1000} s of processor time`),
      onStarved: end(`${patienceMs / 1000} s on this machine`),
    });
  }

  private start(): Worker {
    const worker = new Worker(PROGRAM, {
      eval: true,
      resourceLimits: { maxOldGenerationSizeMb: MEMORY_MB },
    });
    worker.on('message', (reply: Reply) => {
      if (this.worker !== worker) return;
      if ('thread' in reply) this.begin(reply.thread);
      else this.settle(worker, reply);
    });
    worker.on('error', (error) => {
      this.fail(worker, (question) => unusable(question, String(error)));
    });
    return worker;
  }

  private begin(thread: string | null): void {
    this.thread = thread;
    this.seenMs = this.ranMs();
    this.isReady = true;
    this.next();
  }

  /** Null where the system does not tell. */
  private ranMs(): number | null {
    return this.thread === null ? null : (threadTime(process.pid, this.thread)?.ranMs ?? null);
  }

  /** Processor time of the question that is asked. */
  private usedMs(): number | null {
    const ran = this.ranMs();
    return ran === null || this.seenMs === null ? null : ran - this.seenMs;
  }

  private settle(worker: Worker, reply: Exclude<Reply, { readonly thread: string | null }>): void {
    const task = this.current;
    const usedMs = this.usedMs() ?? performance.now() - this.askedAt;
    this.seenMs = this.ranMs();
    this.stopWatching();
    this.current = null;
    worker.unref();
    if (task && 'error' in reply) task.reject(unusable(task.question, reply.error));
    else if (task && !('error' in reply)) task.resolve({ ...reply, usedMs });
    this.next();
  }

  /** Ends the thread. Where it has not even started, all that wait for it would fare no better. */
  private fail(worker: Worker, errorOf: (question: PatternQuestion) => Error): void {
    if (this.worker !== worker) return;
    const tasks = this.current ? [this.current] : this.waiting.splice(0);
    this.stopWatching();
    this.current = null;
    this.worker = null;
    this.isReady = false;
    void worker.terminate();
    for (const task of tasks) task.reject(errorOf(task.question));
    this.next();
  }
}

function endless(question: PatternQuestion, after: string): DomainError {
  return new DomainError(
    'timed-out',
    `example: the regular expression ${shown(question)} did not end within ${after} on a text of ${question.text.length} characters. Write it without repetitions inside of repetitions.`,
    { category: 'user' },
  );
}

function unusable(question: PatternQuestion, why: string): DomainError {
  return new DomainError(
    'bad-dataset',
    `example: the regular expression ${shown(question)} cannot be tried (${why}). Write a simpler one.`,
    { category: 'user' },
  );
}

function shown({ source, flags }: PatternQuestion): string {
  return `/${source.length > LONGEST_SHOWN ? `${source.slice(0, LONGEST_SHOWN)}…` : source}/${flags}`;
}
