import type { ChildProcess } from 'node:child_process';
import { spawn } from 'node:child_process';
import { Writable } from 'node:stream';
import { DomainError } from '../../core/errors';
import { largestOf } from '../../core/extremes';
import { BoundedText } from '../bounded-text';
import type { ExecResult, SandboxLimit, SilenceLimit } from '../sandbox';
import { killOrphansNaming } from '../leases/processes-naming';
import { OUTPUT_FLOOD, sandboxLost } from '../sandbox';
import { sandboxPatienceMs, STARVED, watchTime } from '../used-time';
import { toldLimit } from '../told-limit';
import { watchSilence } from '../watch-silence';
import type { ConfinedCommand } from './command';
import { bubblewrapArguments, FILTER_DESCRIPTOR, NOBODY, STATUS_DESCRIPTOR } from './command';
import { FilesWatch } from './files-watch';
import { ranMsOf, starvedMsOf } from './process-family';
import { systemCallFilter } from './seccomp/system-call-filter';
import { largestShared } from './shared-objects';
import { watchProgram } from './watch';

export interface ConfinedRun extends ConfinedCommand {
  readonly stdin: string;
  readonly timeoutMs: number;
  readonly silence?: SilenceLimit | undefined;
  readonly signal: AbortSignal | undefined;
}

/** A soft limit of processor time ends a program with this signal. */
const CPU_SIGNAL_EXIT = 128 + 24;
/** Linux's own limit, which counts the NUL at a word's end. */
const WORD_BYTES = 128 * 1024 - 1;
const WORDS_BYTES = 1_000_000;

/** Runs one program under bwrap to its end, or ends it. */
export async function runConfined(run: ConfinedRun): Promise<ExecResult> {
  run.signal?.throwIfAborted();
  checkWords([...run.argv, ...Object.entries(run.env).flat()]);
  const start = performance.now();
  const program = new ConfinedProcess(run);
  const stopWatching = watchProgram({
    firstProcess: () => program.firstProcess,
    folder: run.folder,
    limits: run.limits,
    onLimit: (limit) => {
      program.end(limit);
    },
  });
  const usedMs = () => program.usedMs(performance.now() - start);
  const endInTime = () => {
    program.end('time');
  };
  const stopTiming = watchTime({
    limitMs: run.timeoutMs,
    patienceMs: sandboxPatienceMs(run.timeoutMs),
    usedMs,
    onLimit: endInTime,
    onStarved: () => {
      program.giveUp(STARVED);
    },
  });
  const stopListening = watchSilence({
    silence: run.silence,
    heardLines: () => program.lineCount,
    usedMs,
    onLimit: endInTime,
  });
  run.signal?.addEventListener('abort', endInTime, { once: true });
  try {
    await program.ended;
    // A quick program fills the folder between two looks.
    if (new FilesWatch(run.folder, run.limits).isOverAtRest(null)) program.end('disk');
  } finally {
    stopWatching();
    stopTiming();
    stopListening();
    run.signal?.removeEventListener('abort', endInTime);
  }
  run.signal?.throwIfAborted();
  return { ...program.outcome(), seconds: (performance.now() - start) / 1000 };
}

/** What the system takes of a command line, and of one word in it, is told before it refuses. */
function checkWords(words: readonly string[]): void {
  const longest = Math.max(0, largestOf(words.map((word) => Buffer.byteLength(word))));
  const bytes = words.reduce((sum, word) => sum + Buffer.byteLength(word), 0);
  const why = words.some((word) => word.includes('\0'))
    ? 'has a NUL character in a word'
    : longest > WORD_BYTES || bytes > WORDS_BYTES
      ? `has a word of ${longest} bytes, ${bytes} in all; ${WORD_BYTES} and ${WORDS_BYTES} are taken`
      : null;
  if (why === null) return;
  throw new DomainError('refused', `sandbox: the command line ${why}. Give it as a file or as input.`);
}

class ConfinedProcess {
  /** Of all that are under way. */
  private static readonly alive = new Set<number>();
  readonly ended: Promise<void>;
  firstProcess: number | null = null;
  private readonly child: ChildProcess;
  private readonly stdout: BoundedText;
  private readonly stderr: BoundedText;
  private status = '';
  private limit: SandboxLimit | null = null;
  private failure: string | null = null;

  constructor(run: ConfinedRun) {
    const { outputBytes } = run.limits;
    this.stdout = new BoundedText(outputBytes);
    this.stderr = new BoundedText(outputBytes);
    this.child = spawn(run.tools.bwrap, bubblewrapArguments(run), {
      // The first process inside shows the environment it was started with, whatever it cleared since.
      env: {},
      cwd: '/',
      stdio: ['pipe', 'pipe', 'pipe', 'pipe', 'pipe'],
      ...(process.getuid?.() === 0 && { uid: NOBODY, gid: NOBODY }),
    });
    this.dieTogether(run.folder);
    this.ended = new Promise((resolve) => {
      this.child.once('close', resolve);
      this.child.once('error', (error) => {
        this.failure = error.message;
        resolve();
      });
    });
    this.listen(outputBytes * OUTPUT_FLOOD);
    // A program may end without reading all, or any.
    this.child.stdin?.on('error', () => undefined);
    this.child.stdin?.end(run.stdin);
    this.giveFilter(systemCallFilter(run.tools.architecture, largestShared(run.limits.memoryBytes)));
  }

  private giveFilter(filter: Buffer): void {
    const descriptor = this.child.stdio[FILTER_DESCRIPTOR];
    descriptor?.on('error', () => undefined);
    if (descriptor instanceof Writable) descriptor.end(filter);
  }

  /** Ends all processes of the program: the first one inside dies with bwrap, and the others with it. */
  end(limit: SandboxLimit): void {
    if (this.failure === null) this.limit ??= limit;
    this.child.kill('SIGKILL');
  }

  /** A bwrap that is killed in its first moments leaves what it had begun, which would hold on to the output. */
  private dieTogether(folder: string): void {
    const { pid } = this.child;
    if (pid === undefined) return;
    ConfinedProcess.alive.add(pid);
    this.child.once('exit', (_code, signal) => {
      ConfinedProcess.alive.delete(pid);
      if (signal !== null) killOrphansNaming(folder, ConfinedProcess.alive);
    });
  }

  /** Says nothing of the program. */
  giveUp(why: string): void {
    this.failure = why;
    this.child.kill('SIGKILL');
  }

  /** Time in which the machine was busy with others does not count. One whose processes wait for each other is not starved. */
  usedMs(wallMs: number): number {
    if (this.firstProcess === null) return wallMs;
    return Math.max(wallMs - starvedMsOf(this.firstProcess), ranMsOf(this.firstProcess));
  }

  /** Of its standard output. */
  get lineCount(): number {
    return this.stdout.lineCount;
  }

  outcome(): Omit<ExecResult, 'seconds'> {
    const output = {
      stdout: this.stdout.text,
      stderr: this.stderr.text,
      isStdoutCut: this.stdout.isCut,
      isStderrCut: this.stderr.isCut,
    };
    if (this.limit !== null) return { ...output, exitCode: null, limit: this.limit };
    const exitCode = this.exitCode();
    if (exitCode === CPU_SIGNAL_EXIT) return { ...output, exitCode: null, limit: 'cpu' };
    return { ...output, exitCode, limit: toldLimit(exitCode, output.stderr) };
  }

  /** bwrap reports it only of a program that was started. */
  private exitCode(): number {
    const reported = /"exit-code":\s*(\d+)/.exec(this.status)?.[1];
    if (reported !== undefined) return Number(reported);
    const words = this.failure ?? this.stderr.text.trim();
    throw sandboxLost('bubblewrap', words || 'its process was killed from outside');
  }

  private listen(floodBytes: number): void {
    const { child, stdout, stderr } = this;
    const collect = (text: BoundedText) => (chunk: Buffer) => {
      text.add(chunk);
      if (text.totalBytes > floodBytes) this.end('output');
    };
    child.stdout?.on('data', collect(stdout));
    child.stderr?.on('data', collect(stderr));
    child.stdio[STATUS_DESCRIPTOR]?.on('data', (chunk: Buffer) => {
      this.status += chunk.toString();
      this.firstProcess ??= Number(/"child-pid":\s*(\d+)/.exec(this.status)?.[1] ?? NaN) || null;
    });
  }
}
