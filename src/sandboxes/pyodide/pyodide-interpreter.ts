import { randomBytes } from 'node:crypto';
import path from 'node:path';
import type { Lease } from '../leases/leases';
import type { SandboxLimits } from '../sandbox';
import { sandboxLost } from '../sandbox';
import { sandboxPatienceMs, STARVED, threadTime, watchTime } from '../used-time';
import { LineProcess } from './line-process';
import { pyodideCommand } from './pyodide-command';
import type { PythonProgram } from './python-program';

export interface InterpreterQuestion {
  /** One line of JSON. */
  readonly text: string;
  readonly timeoutMs: number;
  readonly signal: AbortSignal | undefined;
}

/** The same interpreter as it was before the program, or another one. */
export type Renewal = 'put-back' | 'new';

const MEBIBYTE = 1024 * 1024;
/** What the process takes before a program has any memory, with room for its garbage and a few interpreters before. */
const OWN_BYTES = 448 * MEBIBYTE;
const ANSWER_BYTES = 128 * MEBIBYTE;
const START_LIMIT_MS = 120_000;
const READY = '{"ready":true}';
const RENEWALS: ReadonlyMap<string, Renewal> = new Map([
  ['{"ready":true,"isPutBack":true}', 'put-back'],
  ['{"ready":true,"isPutBack":false}', 'new'],
]);

const WORD_BYTES = 8;
/** The process's watch ends it with one of these, and knows of no question. */
const LIMIT_ANSWERS = ['{"limit":"cpu"}', '{"limit":"memory"}', '{"limit":"time"}'];
/** JavaScript aborts a process whose own memory is full. */
const OUT_OF_MEMORY = '{"limit":"memory"}';
const STRANGE_ANSWER = '{"ended":null,"why":"The program wrote into the answers of its interpreter."}';

const WARM_UP_SOURCE = `import collections, copy, os, functools, heapq, itertools, math, re, string, sys, types, typing
word = sys.stdin.readline()
module = types.ModuleType("program")
exec(compile("def check(value: typing.List[int]):\\n    assert value\\ncheck([1])", "program.py", "exec"), module.__dict__)
try:
    raise ValueError("warm")
except ValueError:
    import traceback
    traceback.format_exc()
os.remove(__file__)
print(word)
`;

/** Loads what programs usually use, so that the first one is as fast as the others. */
const WARM_UP = JSON.stringify({
  files: { 'warm-up.py': Buffer.from(WARM_UP_SOURCE).toString('base64') },
  argv: ['python3', 'warm-up.py'],
  stdin: '',
  env: {},
  outputBytes: 1000,
});

/** One interpreter in a process of its own, started and warmed up. */
export class PyodideInterpreter {
  private constructor(private readonly process: LineProcess) {}

  static async start(lease: Lease, limits: SandboxLimits): Promise<PyodideInterpreter> {
    const command = await pyodideCommand(programOf(limits));
    // The lease in its command line lets a reaper find it.
    const child = new LineProcess({ ...command, args: [...command.args, lease.id] });
    const timer = setTimeout(() => {
      child.kill();
    }, START_LIMIT_MS);
    const line = await child.ready;
    clearTimeout(timer);
    if (line === READY) return new PyodideInterpreter(child);
    child.kill();
    throw sandboxLost('pyodide', `it does not start: ${line ?? 'its process ended'}`);
  }

  get isAlive(): boolean {
    return this.process.isAlive;
  }

  /**
   * Null where the question outlasted its time, and the interpreter with it. Time in which the machine was busy with others does not
   * count; where it stays busy the sandbox is lost. A process that aborts has its program to thank for it, which is an answer.
   */
  async ask({ text, timeoutMs, signal }: InterpreterQuestion): Promise<string | null> {
    signal?.throwIfAborted();
    const end: { why: 'time' | 'starved' | null } = { why: null };
    const kill = (why: 'time' | 'starved') => () => {
      end.why = why;
      this.process.kill();
    };
    const onAbort = kill('time');
    const stopWatching = watchTime({
      limitMs: timeoutMs,
      patienceMs: sandboxPatienceMs(timeoutMs),
      usedMs: this.fairTime(),
      onLimit: kill('time'),
      onStarved: kill('starved'),
    });
    signal?.addEventListener('abort', onAbort, { once: true });
    const answer = await this.answerTo(text);
    stopWatching();
    signal?.removeEventListener('abort', onAbort);
    signal?.throwIfAborted();
    if (answer !== null || end.why === 'time') return answer;
    if (end.why) throw sandboxLost('pyodide', STARVED);
    if (this.process.hasAborted) return OUT_OF_MEMORY;
    throw sandboxLost('pyodide', 'its process was killed from outside');
  }

  /** What is not an answer to this very question is of a program that found a way to standard output. */
  private async answerTo(text: string): Promise<string | null> {
    const word = randomBytes(WORD_BYTES).toString('hex');
    const line = await this.process.ask(`${word} ${text}`);
    if (line === null || LIMIT_ANSWERS.includes(line)) return line;
    if (line.startsWith(`${word} `)) return line.slice(word.length + 1);
    this.kill();
    return STRANGE_ANSWER;
  }

  /** Tells the time since now in which the interpreter ran or waited of its own accord. */
  private fairTime(): () => number {
    const start = performance.now();
    const starvedMs = () => threadTime(this.process.pid ?? '', this.process.pid ?? '')?.starvedMs ?? 0;
    const before = starvedMs();
    return () => performance.now() - start - (starvedMs() - before);
  }

  /** How the process came by an interpreter that knows of no program; null where it did not, and has ended. */
  async renew(): Promise<Renewal | null> {
    const timer = setTimeout(() => {
      this.kill();
    }, START_LIMIT_MS);
    const answer = await this.answerTo('{"renew":true}');
    clearTimeout(timer);
    const renewal = RENEWALS.get(answer ?? '') ?? null;
    if (renewal === null) this.kill();
    return renewal;
  }

  kill(): void {
    this.process.kill();
  }
}

function programOf({ memoryBytes, diskBytes }: SandboxLimits): PythonProgram {
  return {
    name: 'sandbox',
    path: path.join(__dirname, 'sandbox_program.py'),
    wheels: [],
    warmUp: [WARM_UP],
    memoryLimitBytes: memoryBytes,
    questionLimitMs: START_LIMIT_MS,
    hostile: {
      processBytes: OWN_BYTES + memoryBytes + diskBytes,
      diskBytes,
      answerBytes: ANSWER_BYTES,
    },
  };
}
