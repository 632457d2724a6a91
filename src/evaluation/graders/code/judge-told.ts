import { readFileSync } from 'node:fs';
import path from 'node:path';
import { z } from 'zod';
import type { ExecResult } from '../../../sandboxes/sandbox';
import type { WordedCheck } from './run-with-word';
import { runWithWord } from './run-with-word';

/** What a program is judged by, which runs nowhere near it. */
export type JudgedBy = { readonly stopsAtFirst: boolean } & (
  | {
      /** Statements that have to hold, each with names of their own. */
      readonly assertions: readonly string[];
      /** Code of the task that runs before each, what it defines being no matter of the program. */
      readonly given: string;
      /** Names that the program is asked for; those that the statements use where null. */
      readonly names: readonly string[] | null;
      /** The word of the program's run: what the statements draw at random is drawn again. */
      readonly seed: string;
    }
  | { readonly outputs: readonly string[]; readonly functionName: string | null }
);

const Verdict = z.object({
  passed: z.int().min(0),
  failure: z.object({ test: z.int(), kind: z.string(), message: z.string() }).nullable(),
});
export type Verdict = z.infer<typeof Verdict>;

/** Kinds of failures of assertions that hold beside the program. */
const HELD_BESIDE: ReadonlySet<string> = new Set(['own', 'differs', 'wrong']);

export interface Judgement {
  /** Null where it came to none. */
  readonly verdict: Verdict | null;
  readonly result: ExecResult;
}

/** Goes before a program that is to be tested. */
export const PROGRAM_PRELUDE = ['check_prelude.py', 'told_values.py', 'calls.py'].map(sourceOf).join('\n\n');
const JUDGE = ['told_values.py', 'calls.py', 'tests_judge.py'].map(sourceOf).join('\n\n');

/**
 * Judges what a program told, line by line: tests are run again in another interpreter, where what they call gives the values that were
 * told, of Python's own types. Nothing of the program runs there, so that it can neither change its tests nor say what it equals.
 */
export async function judgeTold(
  told: string,
  by: JudgedBy,
  bounds: Pick<WordedCheck, 'timeoutMs' | 'limits' | 'silence'>,
): Promise<Judgement> {
  const { said, result } = await runWithWord({
    files: { 'told.jsonl': told, 'tests.json': JSON.stringify(by), 'check.py': JUDGE },
    ...bounds,
  });
  return { verdict: verdictIn(said), result };
}

/** Whether the tests held where the program ran, as the published scripts run them. */
export function heldBeside(verdict: Verdict | null): boolean {
  return verdict?.failure ? HELD_BESIDE.has(verdict.failure.kind) : false;
}

function sourceOf(name: string): string {
  return readFileSync(path.join(__dirname, name), 'utf8');
}

function verdictIn(said: string | null): Verdict | null {
  try {
    return Verdict.parse(JSON.parse(said ?? ''));
  } catch {
    return null;
  }
}
