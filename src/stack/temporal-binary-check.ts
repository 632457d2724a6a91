import { anySignal } from '../core/concurrency/any-signal';
import { isExecutable } from './find-on-path';
import { PhaseLimitError } from './phase';
import { runProgram } from './run-program';

export type ProgramCheck =
  { readonly version: string } | { readonly reason: string; readonly missing: boolean };

const LIMIT_MS = 20_000;

/**
 * Runs `FILE --version`: a damaged or foreign program of that name is not a Temporal CLI. The program is in a process
 * group of its own, so that Ctrl-C ends us and not it: a program that was interrupted is not a damaged one.
 */
export async function checkProgram(file: string, signal?: AbortSignal): Promise<ProgramCheck> {
  if (!isExecutable(file)) return { reason: 'no such program, or it may not be run', missing: true };
  const limit = new AbortController();
  const timer = setTimeout(() => {
    limit.abort(new PhaseLimitError(`${file} --version`, LIMIT_MS));
  }, LIMIT_MS);
  try {
    const end = await runProgram({
      program: file,
      args: ['--version'],
      signal: anySignal([limit.signal, ...(signal === undefined ? [] : [signal])]),
    });
    const version = /temporal version .*\((Server [\d.]+)/.exec(end.output)?.[1];
    if (end.exitCode === 0 && version !== undefined) return { version };
    const reason =
      end.exitCode === 0
        ? 'it does not call itself a Temporal CLI with a server'
        : `\`${file} --version\` failed: ${end.output.trim().split('\n')[0] || end.how}`;
    return { reason, missing: false };
  } finally {
    clearTimeout(timer);
  }
}
