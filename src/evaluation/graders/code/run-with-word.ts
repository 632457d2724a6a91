import { randomBytes } from 'node:crypto';
import { processSandboxes } from '../../../sandboxes/process-sandboxes';
import type { ExecResult, SandboxLimits, SilenceLimit } from '../../../sandboxes/sandbox';

/** A check and what it needs. `check.py` reads a word and says it before its verdict, once it has come to one. */
export interface WordedCheck {
  readonly files: Readonly<Record<string, string>> & { readonly 'check.py': string };
  readonly timeoutMs: number;
  readonly limits: Partial<SandboxLimits>;
  /** Of a check that says a line for each of its tests. */
  readonly silence?: SilenceLimit;
  /** Drawn where absent. */
  readonly word?: string;
}

export interface WordedResult {
  readonly result: ExecResult;
  /** What followed the word; null where the program ended without saying it. */
  readonly said: string | null;
  /** Kind of the sandbox, for the record. */
  readonly sandbox: string;
}

/** The standard library alone, and no compiled files: a verdict does not depend on what else is installed. */
const PYTHON = ['python3', '-I', '-S', '-B', 'check.py'];

export function drawWord(): string {
  return randomBytes(12).toString('hex');
}

/**
 * Runs a check in a sandbox of this process, as soon as one is free. A sandbox that is lost is no verdict: it is replaced, and in
 * the end told as an error.
 */
export async function runWithWord({
  files,
  timeoutMs,
  limits,
  silence,
  word = drawWord(),
}: WordedCheck): Promise<WordedResult> {
  const pool = await processSandboxes.open();
  const result = await pool.use(async (sandbox) => {
    for (const [name, content] of Object.entries(files)) await sandbox.writeFile(name, content);
    return sandbox.exec(PYTHON, { stdin: `${word}\n`, timeoutMs, limits, ...(silence && { silence }) });
  });
  const hasSaid = result.exitCode === 0 && result.stdout.startsWith(word);
  return { result, said: hasSaid ? result.stdout.slice(word.length) : null, sandbox: pool.kind };
}
