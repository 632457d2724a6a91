import { DomainError } from '../../core/errors';
import type { LineCommand } from './line-process';
import { LineProcess } from './line-process';
import { PATIENCE, processorMs, watchTime } from '../used-time';

export interface WarmProcessOptions {
  /** What to start; asked again for every start. */
  readonly command: () => Promise<LineCommand>;
  /** What messages call the process. */
  readonly name: string;
  readonly startLimitMs?: number;
  /** How long a question is waited for on the clock; default many times its limit. */
  readonly patienceMs?: number;
  /** A question that runs longer than this has a spare process started, in case it must be killed. */
  readonly spareAfterMs?: number;
}

export interface TimedAnswer {
  /** Null where the question was ended. */
  readonly line: string | null;
  /** Why it was ended. */
  readonly limit?: 'time' | 'process';
  /** Processor time of the question itself; the limit where it was ended, 0 where the system does not tell. */
  readonly usedMs: number;
}

const START_LIMIT_MS = 120_000;
const SPARE_AFTER_MS = 500;

/**
 * One process that answers questions in turn, started at the first of them and kept warm.
 *
 * A question that uses more processor time than its limit is answered by killing the process from outside, whatever it is doing; the next one gets
 * a fresh process, which was started while the slow question ran. One that is not given this time by a busy machine, within many times the limit on
 * the clock, throws `timed-out` and is no answer. A process that dies under a question answers it with `limit: 'process'` (out of
 * memory, a crash of the interpreter); one that is killed from outside throws.
 */
export class WarmProcess {
  private current: Promise<LineProcess> | null = null;
  private spare: Promise<LineProcess> | null = null;
  private turn: Promise<unknown> = Promise.resolve();

  constructor(private readonly options: WarmProcessOptions) {}

  ask(question: string, limitMs: number): Promise<TimedAnswer> {
    const answer = this.turn.then(() => this.askNow(question, limitMs));
    this.turn = answer.catch(() => undefined);
    return answer;
  }

  /** Ends the processes; asking again starts new ones. */
  async close(): Promise<void> {
    const processes = [this.current, this.spare];
    this.current = null;
    this.spare = null;
    for (const each of processes) (await each?.catch(() => null))?.kill();
  }

  private async askNow(question: string, limitMs: number): Promise<TimedAnswer> {
    const child = await this.livingProcess();
    const spareTimer = setTimeout(() => {
      this.prepareSpare();
    }, this.options.spareAfterMs ?? SPARE_AFTER_MS);
    const before = processorMs(child.pid);
    const usedMs = () => differenceOf(processorMs(child.pid), before);
    const end: { why: 'time' | 'starved' | null } = { why: null };
    const kill = (why: 'time' | 'starved') => () => {
      end.why = why;
      child.kill();
    };
    const stopWatching = watchTime({
      limitMs,
      patienceMs: this.options.patienceMs ?? limitMs * PATIENCE,
      usedMs,
      onLimit: kill('time'),
      onStarved: kill('starved'),
    });
    try {
      const line = await child.ask(question);
      if (line !== null) return { line, usedMs: usedMs() ?? 0 };
      if (end.why === 'starved') throw this.starved(limitMs);
      if (child.killedFromOutside) throw this.killed();
      return { line, limit: end.why ?? 'process', usedMs: limitMs };
    } finally {
      clearTimeout(spareTimer);
      stopWatching();
    }
  }

  private starved(limitMs: number): DomainError {
    return new DomainError(
      'timed-out',
      `${this.options.name} was not given its ${limitMs / 1000} s of processor time by this machine. Try again when it is less busy.`,
      { retryable: true },
    );
  }

  private killed(): DomainError {
    return new DomainError(
      'sandbox-lost',
      `${this.options.name} was killed from outside, for instance because this machine has no memory left. Try again.`,
      { retryable: true },
    );
  }

  private async livingProcess(): Promise<LineProcess> {
    const current = await this.current?.catch(() => null);
    if (current?.isAlive) return current;
    this.current = this.spare ?? this.start();
    this.spare = null;
    const next = await this.current.catch((error: unknown) => {
      this.current = null;
      throw error;
    });
    return next.isAlive ? next : this.livingProcess();
  }

  private prepareSpare(): void {
    this.spare ??= this.start();
    // Whoever needs it sees the failure; nobody may.
    this.spare.catch(() => {
      this.spare = null;
    });
  }

  private async start(): Promise<LineProcess> {
    const child = new LineProcess(await this.options.command());
    const limitMs = this.options.startLimitMs ?? START_LIMIT_MS;
    const timer = setTimeout(() => {
      child.kill();
    }, limitMs);
    const line = await child.ready;
    clearTimeout(timer);
    if (line !== null && isReady(line)) return child;
    child.kill();
    const why = line ?? `it ended, or was not ready within ${limitMs / 1000} s`;
    throw new DomainError('request-failed', `${this.options.name} does not start: ${why}.`, {
      retryable: true,
    });
  }
}

function differenceOf(now: number | null, before: number | null): number | null {
  return now === null || before === null ? null : now - before;
}

function isReady(line: string): boolean {
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === 'object' && value !== null && 'ready' in value && value.ready === true;
  } catch {
    return false;
  }
}
