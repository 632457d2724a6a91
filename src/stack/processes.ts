import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { closeSync, mkdirSync, openSync, renameSync, writeSync } from 'node:fs';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { hasErrorCode } from '../core/error-code';
import { withoutFullStop } from '../core/strip-ends';
import { childVariables } from '../config/environment';
import { DomainError } from '../core/errors';
import { fatalWords, reasonOfEnd } from './end-reason';
import { describeFullDisk } from './full-disk';
import { describeLog, fileSize, readTail } from './last-lines';
import { identifyProcess, sendSignal } from './process-identity';
import type { ProcessIdentity } from './process-identity';
import { tellSeldom } from './seldom';

/** The launcher: beside `dist` in a package, beside `src` in a checkout. */
export const LAUNCHER = path.resolve(__dirname, '../../bin/everstep.js');

export interface ServiceStart {
  /** Command and options of `everstep`. */
  readonly args: readonly string[];
  readonly variables?: Readonly<Record<string, string | null>>;
}

export interface ServiceOptions {
  readonly name: string;
  readonly logFolder: string;
  /** The program to run with Node; everstep's own launcher unless a test brings another. */
  readonly launcher?: string;
  /** Asked before every start, so that a restart sees the addresses of that moment. */
  readonly prepare: () => Promise<ServiceStart>;
  /** Whether what `prepare` failed with lasts: the service is then not started again. */
  readonly isLasting?: (error: unknown) => boolean;
  /** Told at each start and each end of the process. */
  readonly onChange: (service: SupervisedService) => void;
  /** Told about restarts, in words for a person. */
  readonly onProgress: (line: string) => void;
  readonly stopLimitMs: number;
}

export interface SupervisedService {
  readonly name: string;
  /** The living process; null between an end and the restart. */
  readonly process: ProcessIdentity | null;
  /** The line with which the service first said that it is ready. Rejects when it never came to that. */
  readonly ready: Promise<string>;
  /** Ends the process in order; the supervisor starts it again. */
  restart(): void;
  /** Ends it for good: asks, and after the limit kills the whole process group. */
  stop(): Promise<void>;
}

const FIRST_START_TRIES = 3;
const SHORT_LIFE_MS = 30_000;
const BACKOFF_LIMIT_MS = 10_000;
const LOG_LIMIT_BYTES = 20_000_000;

/**
 * Keeps one service process alive in its own process group.
 *
 * A process killed by a signal is started again at once; one that ends by itself after a short life, with growing
 * pauses. The service ends with us, even after kill -9 of this process: its stdin pipe closes then.
 */
export function superviseService(options: ServiceOptions): SupervisedService {
  const supervisor = new Supervisor(options);
  supervisor.start();
  return supervisor;
}

class Supervisor implements SupervisedService {
  process: ProcessIdentity | null = null;
  readonly ready: Promise<string>;
  readonly name: string;
  private child: ChildProcess | null = null;
  private startedAtMs = 0;
  private isStopping = false;
  private isReady = false;
  private readonly logStart: number;
  /** Where in the log what the present process writes begins. */
  private lifeStart: number;
  private readonly tellEnd: (line: string) => void;
  private shortLives = 0;
  private timer: NodeJS.Timeout | null = null;
  private readonly ended = new Set<() => void>();
  private settle: { resolve(line: string): void; reject(error: Error): void } = {
    resolve: ignore,
    reject: ignore,
  };

  constructor(private readonly options: ServiceOptions) {
    this.name = options.name;
    this.logStart = fileSize(logFile(options));
    this.lifeStart = this.logStart;
    this.tellEnd = tellSeldom(options.onProgress);
    this.ready = new Promise((resolve, reject) => {
      this.settle = { resolve, reject };
    });
    // Whoever stops the stack before it is ready need not look at this promise.
    this.ready.catch(ignore);
  }

  start(): void {
    this.timer = null;
    this.launch().catch((error: unknown) => {
      if (this.options.isLasting?.(error) === true) {
        this.settle.reject(error instanceof Error ? error : new Error(String(error)));
        return;
      }
      this.afterEnd(error instanceof Error ? error.message : String(error), false);
    });
  }

  restart(): void {
    if (this.child !== null) this.child.kill('SIGTERM');
  }

  async stop(): Promise<void> {
    this.isStopping = true;
    if (this.timer !== null) clearTimeout(this.timer);
    const { child } = this;
    if (child?.pid === undefined) return;
    const { pid } = child;
    const gone = new Promise<void>((resolve) => this.ended.add(resolve));
    child.kill('SIGTERM');
    const timer = setTimeout(() => sendSignal(-pid, 'SIGKILL'), this.options.stopLimitMs);
    await gone;
    clearTimeout(timer);
    // Its own children share the group; none of them may stay behind.
    sendSignal(-pid, 'SIGKILL');
  }

  private async launch(): Promise<void> {
    const { args, variables = {} } = await this.options.prepare();
    if (this.isStopping) return;
    const log = openLog(this.options.logFolder, this.name);
    this.lifeStart = fileSize(logFile(this.options));
    try {
      const child = spawn(
        process.execPath,
        [this.options.launcher ?? LAUNCHER, ...args, '--exit-with-parent'],
        {
          detached: true,
          stdio: ['pipe', 'pipe', log],
          env: childVariables({ ...variables, EVERSTEP_NO_BUILD: '1' }),
        },
      );
      this.attach(child);
    } finally {
      closeSync(log);
    }
  }

  private attach(child: ChildProcess): void {
    this.child = child;
    this.startedAtMs = performance.now();
    this.process = child.pid === undefined ? null : identifyProcess(child.pid);
    child.stdin?.on('error', ignore);
    if (child.stdout)
      createInterface({ input: child.stdout }).on('line', (line) => {
        this.onLine(line);
      });
    let isOver = false;
    const end = (how: string, wasSignal: boolean): void => {
      if (isOver) return;
      isOver = true;
      if (child.pid !== undefined) sendSignal(-child.pid, 'SIGKILL');
      this.afterEnd(how, wasSignal);
    };
    child.once('error', (error) => {
      end(error.message, false);
    });
    child.once('exit', (code, signal) => {
      end(signal ?? `exit code ${code ?? 'unknown'}`, signal !== null);
    });
    this.options.onChange(this);
  }

  private onLine(line: string): void {
    appendLog(this.options.logFolder, this.name, line);
    if (this.isReady) return;
    this.isReady = true;
    this.settle.resolve(line);
  }

  private afterEnd(how: string, wasSignal: boolean): void {
    const lifeMs = performance.now() - this.startedAtMs;
    this.child = null;
    this.process = null;
    for (const resolve of this.ended) resolve();
    if (this.isStopping) return;
    this.options.onChange(this);
    this.shortLives = wasSignal || lifeMs > SHORT_LIFE_MS ? 0 : this.shortLives + 1;
    if (!this.isReady && this.shortLives >= FIRST_START_TRIES) {
      this.settle.reject(this.startFailure(how));
      return;
    }
    const pauseMs = this.shortLives === 0 ? 0 : Math.min(100 * 2 ** this.shortLives, BACKOFF_LIMIT_MS);
    if (wasSignal) this.options.onProgress(this.describeSignal(how));
    else this.tellEnd(this.describeEnd(how));
    this.timer = setTimeout(() => {
      this.start();
    }, pauseMs);
  }

  private describeSignal(how: string): string {
    const words = fatalWords(readTail(logFile(this.options), this.lifeStart));
    return `${this.name} ended (${how})${saidAtEnd(words ?? '')}; starting it again.`;
  }

  /** With the reason by its log, and by the disk, where a full one may have kept it out of the log. */
  private describeEnd(how: string): string {
    const reason = reasonOfEnd(readTail(logFile(this.options), this.lifeStart), Date.now()) ?? '';
    const full = describeFullDisk(path.dirname(this.options.logFolder), `${how} ${reason}`);
    const said = how.includes(reason) ? '' : saidAtEnd(reason);
    if (full === null) return `${this.name} ended (${how})${said}; starting it again.`;
    return `${this.name} ended (${how})${said}; ${full}. Free some space; it is started again by itself.`;
  }

  private startFailure(how: string): DomainError {
    const file = logFile(this.options);
    return new DomainError(
      'temporal-unavailable',
      `The ${this.name} service does not start (${how}). ${describeLog(file, this.logStart)}`,
    );
  }
}

function saidAtEnd(words: string): string {
  return words === '' ? '' : `: ${withoutFullStop(words)}`;
}

function logFile({ logFolder, name }: Pick<ServiceOptions, 'logFolder' | 'name'>): string {
  return path.join(logFolder, `${name}.log`);
}

/** Opens a log for appending; a long one is set aside first. */
export function openLog(folder: string, name: string): number {
  mkdirSync(folder, { recursive: true });
  const file = path.join(folder, `${name}.log`);
  if (fileSize(file) > LOG_LIMIT_BYTES) renameSync(file, `${file}.old`);
  return openSync(file, 'a');
}

/** A line is lost where the disk is full. */
function appendLog(folder: string, name: string, line: string): void {
  const log = openSync(path.join(folder, `${name}.log`), 'a');
  try {
    writeSync(log, `${line}\n`);
  } catch (error) {
    if (!hasErrorCode(error, 'ENOSPC', 'EDQUOT')) throw error;
  } finally {
    closeSync(log);
  }
}

function ignore(): void {
  // Nothing to do.
}
