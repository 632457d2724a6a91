import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { childVariables } from '../config/environment';
import { lastLines } from './last-lines';
import { PhaseLimitError } from './phase';
import { sendSignal } from './process-identity';
import { tiedToUs } from './tied-process';

export interface ProgramRun {
  readonly program: string;
  readonly args: readonly string[];
  readonly folder?: string;
  readonly variables?: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
  readonly onLine?: (line: string) => void;
}

export interface ProgramEnd {
  /** Null when it did not end by itself. */
  readonly exitCode: number | null;
  /** In words: `exit code 1`, `SIGKILL`, or that it took too long. */
  readonly how: string;
  /** The end of what it printed. */
  readonly output: string;
}

const OUTPUT_LIMIT = 200_000;

/**
 * Runs a program to its end in a process group of its own, which dies with the signal and with this process: none of
 * its own children stays behind. A limit of the phase is an end like others; what a person aborts rejects.
 */
export function runProgram(run: ProgramRun): Promise<ProgramEnd> {
  const { signal, folder, onLine } = run;
  const env = childVariables(run.variables ?? {});
  const tied = tiedToUs(run.program, run.args, { signal: 'KILL', searchPath: env['PATH'] ?? '' });
  return new Promise((resolve, reject) => {
    signal.throwIfAborted();
    const child = spawn(tied.program, tied.args, {
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe'],
      env,
      ...(folder !== undefined && { cwd: folder }),
    });
    let output = '';
    for (const stream of [child.stdout, child.stderr]) {
      createInterface({ input: stream }).on('line', (line) => {
        output = `${output}${line}\n`.slice(-OUTPUT_LIMIT);
        onLine?.(line);
      });
    }
    const kill = (): void => {
      if (child.pid !== undefined) sendSignal(-child.pid, 'SIGKILL');
    };
    signal.addEventListener('abort', kill, { once: true });
    // Before others tidy up what it works on.
    process.prependOnceListener('exit', kill);
    const settle = (exitCode: number | null, how: string): void => {
      signal.removeEventListener('abort', kill);
      process.removeListener('exit', kill);
      if (!signal.aborted) resolve({ exitCode, how, output });
      else if (signal.reason instanceof PhaseLimitError)
        resolve({ exitCode: null, how: signal.reason.message, output });
      // oxlint-disable-next-line typescript/prefer-promise-reject-errors -- whatever the signal was aborted with
      else reject(signal.reason);
    };
    child.once('error', (error) => {
      settle(null, error.message);
    });
    child.once('close', (code, killedBy) => {
      settle(code, killedBy ?? `exit code ${code ?? 'unknown'}`);
    });
  });
}

/** What a person is told of a program that failed. */
export function describeFailure(name: string, { how, output }: ProgramEnd): string {
  const lines = lastLines(output, 8);
  return `${name} failed (${how}); ${lines === '' ? 'it printed nothing' : `it ends with:\n${lines}`}`;
}
