import type { ChildProcess } from 'node:child_process';
import { spawn } from 'node:child_process';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { Readable } from 'node:stream';
import { z } from 'zod';
import { anySignal } from '../../../core/concurrency/any-signal';
import { DomainError } from '../../../core/errors';

export interface InspectCommand {
  readonly python: string;
  /** What follows `inspect`. */
  readonly words: readonly string[];
  /** All of its environment. */
  readonly variables: Readonly<Record<string, string>>;
  readonly folder: string;
  readonly signal: AbortSignal;
  readonly timeoutMs: number;
  readonly onSamples?: (count: SampleCount) => void;
  /** Between being asked to end and being killed. */
  readonly graceMs?: number;
}

/** How far a task is; Inspect says how many samples it has when it has loaded them. */
const SampleCount = z.object({ done: z.int().min(0), total: z.int().min(0) }).readonly();
export type SampleCount = z.infer<typeof SampleCount>;

export interface InspectEnd {
  readonly code: number | null;
  /** What killed it; null where it ended by itself. */
  readonly killedBy: NodeJS.Signals | null;
  /** The last of what it printed. */
  readonly tail: string;
}

const PROGRAM = path.join(__dirname, 'run_inspect.py');
/** With which the launcher ends when it refuses what it is given, and how it begins to say so. */
const REFUSED = 64;
const REFUSAL = 'everstep: ';
const TAIL_CHARACTERS = 8000;
/** Containers of sandboxes take their time to go. */
const GRACE_MS = 15_000;

/**
 * Runs Inspect to its end in a process group of its own, which is ended as a whole: when `signal` fires, when it takes too long, and
 * when this process dies.
 */
export async function runInspect(command: InspectCommand): Promise<InspectEnd> {
  const { python, words, variables, folder, signal, timeoutMs, graceMs = GRACE_MS } = command;
  signal.throwIfAborted();
  const child = spawn(python, [PROGRAM, ...words], {
    cwd: folder,
    env: { ...variables },
    detached: true,
    // The last is where samples are counted.
    stdio: ['pipe', 'pipe', 'pipe', 'pipe'],
  });
  // A process that ended shows as a closed pipe.
  child.stdin.on('error', () => undefined);
  const tail = keepTail(child);
  readCounts(child, command.onSamples);
  const limit = AbortSignal.timeout(timeoutMs);
  const stop = anySignal([signal, limit]);
  const ending = new Ending(child, graceMs);
  const onStop = () => {
    ending.begin();
  };
  stop.addEventListener('abort', onStop, { once: true });
  try {
    const end = await exitOf(child, python);
    signal.throwIfAborted();
    if (limit.aborted) {
      throw new DomainError(
        'timed-out',
        `Inspect took more than ${timeoutMs / 1000} s and was ended. Answers so far are kept; raise timeoutSeconds, or set a limit.`,
      );
    }
    return { ...end, tail: tail() };
  } finally {
    stop.removeEventListener('abort', onStop);
    ending.complete();
  }
}

/** What the launcher found wrong with what it was given; null where it ended otherwise. */
export function refusalIn({ code, tail }: InspectEnd): string | null {
  if (code !== REFUSED) return null;
  const said = tail.split('\n').findLast((line) => line.startsWith(REFUSAL));
  return said?.slice(REFUSAL.length) ?? null;
}

/** Ends the whole group: gently first, as Ctrl-C does, upon which Inspect closes its sandboxes and its log. */
class Ending {
  private timer: NodeJS.Timeout | null = null;

  constructor(
    private readonly child: ChildProcess,
    private readonly graceMs: number,
  ) {}

  begin(): void {
    // Inspect alone: what it started it needs for cleaning up.
    this.child.kill('SIGINT');
    this.timer = setTimeout(() => {
      this.killAll();
    }, this.graceMs);
  }

  /** What the process started may outlive it. */
  complete(): void {
    if (this.timer) clearTimeout(this.timer);
    this.killAll();
  }

  private killAll(): void {
    const { pid } = this.child;
    if (pid === undefined) return;
    try {
      process.kill(-pid, 'SIGKILL');
    } catch {
      // All of it has ended.
    }
  }
}

function exitOf(child: ChildProcess, python: string): Promise<Omit<InspectEnd, 'tail'>> {
  return new Promise((resolve, reject) => {
    child.once('error', (error) => {
      reject(
        new DomainError(
          'bad-config',
          `${python} cannot be started: ${error.message}. Make it anew: everstep inspect setup`,
        ),
      );
    });
    // Not `close`: something it left running may hold its output open.
    child.once('exit', (code, killedBy) => {
      resolve({ code, killedBy });
    });
  });
}

/** Lines of `{"done": 3, "total": 20}`; what else comes is of no use. */
function readCounts(child: ChildProcess, onSamples: InspectCommand['onSamples']): void {
  const [, , , counts] = child.stdio;
  if (!(counts instanceof Readable)) return;
  counts.on('error', () => undefined);
  const lines = createInterface({ input: counts });
  lines.on('line', (line) => {
    const count = SampleCount.safeParse(parsed(line));
    if (count.success) onSamples?.(count.data);
  });
}

function parsed(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return null;
  }
}

function keepTail(child: ChildProcess): () => string {
  let kept = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding('utf8').on('data', (text: string) => {
      kept = (kept + text).slice(-TAIL_CHARACTERS);
    });
  }
  return () => kept;
}
