import { createContext, Script } from 'node:vm';
import { isMainThread } from 'node:worker_threads';
import { hasErrorCode } from '../core/error-code';
import { DomainError } from '../core/errors';
import { threadTime } from './used-time';

const LIMIT_MS = 5000;
/** So often a reading is begun that had no processor: the machine slept, or had too much else to do. */
const ATTEMPTS = 4;

let reading: () => void = () => undefined;
const place = createContext({
  read: () => {
    reading();
  },
});
/** Node ends a script that runs for too long, with all that it called: loops and regular expressions of other files too. */
const script = new Script('read()');

/**
 * What `read` returns; null where that takes more than `limitMs` of this thread's processor time. Nothing else of the thread goes on
 * meanwhile, and what a promise waits for is not bounded. Throws `timed-out` where the thread had no such time.
 */
export function readWithin<Result>(
  read: () => Result,
  limitMs = LIMIT_MS,
): { readonly result: Result } | null {
  const before = ranMs();
  for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
    const found = readOnce(read, limitMs);
    if (found) return found;
    if (ranMs() - before > limitMs / 2) return null;
  }
  throw new DomainError(
    'timed-out',
    `What others wrote was not read: this thread had no processor for ${(ATTEMPTS * limitMs) / 1000} s.`,
  );
}

/** What others wrote takes more time than all of its reading may. */
export class TooLongToRead extends Error {
  constructor() {
    super('It takes too long to read.');
  }
}

/** What several readings take together, such as those of one answer between which a grader waits. Throws a TooLongToRead. */
export class ReadingTime {
  private isReading = false;

  constructor(private left = LIMIT_MS) {}

  get leftMs(): number {
    return this.left;
  }

  /** A reading within another one counts with it. */
  read<Result>(read: () => Result): Result {
    if (this.isReading) return read();
    const before = ranMs();
    this.isReading = true;
    try {
      const found = readWithin(read, Math.min(LIMIT_MS, Math.max(1, Math.ceil(this.left))));
      this.take(ranMs() - before);
      if (!found) throw new TooLongToRead();
      return found.result;
    } finally {
      this.isReading = false;
    }
  }

  /** Time that another thread took for it. */
  take(usedMs: number): void {
    this.left -= usedMs;
    if (this.left <= 0) throw new TooLongToRead();
  }
}

/** Processor time of the thread that reads, which Linux tells; elsewhere of all threads. */
function ranMs(): number {
  const { pid } = process;
  const thread = isMainThread ? threadTime(pid, pid) : null;
  if (thread) return thread.ranMs;
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

function readOnce<Result>(read: () => Result, limitMs: number): { readonly result: Result } | null {
  let found: { readonly result: Result } | null = null;
  reading = () => {
    found = { result: read() };
  };
  try {
    script.runInContext(place, { timeout: limitMs });
    return found;
  } catch (error) {
    if (hasErrorCode(error, 'ERR_SCRIPT_EXECUTION_TIMEOUT')) return null;
    throw error;
  } finally {
    reading = () => undefined;
  }
}
