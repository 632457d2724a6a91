import { readFileSync } from 'node:fs';
import path from 'node:path';
import { z } from 'zod';
import type { ExecResult } from '../../../sandboxes/sandbox';
import type { Score } from '../grader';
import type { WordedResult } from './run-with-word';
import { CHECK_PRELUDE } from './python-verdict';
import { runWithWord } from './run-with-word';

/** What a program is run on, or statements that have to hold after it. */
export type Tests =
  | {
      readonly inputs: readonly string[];
      readonly outputs: readonly string[];
      /** The function that is called; null for programs that read standard input. */
      readonly functionName: string | null;
    }
  | { readonly assertions: readonly string[] };

export interface TestedCode {
  /** The program, with what it needs beside what is shown as the answer. */
  readonly code: string;
  readonly answer?: string;
  readonly tests: Tests;
  /** Else every test is run, and how many pass is a finer measure. */
  readonly stopsAtFirst: boolean;
  /** Else a program is run within a function, as LiveCodeBench's harness does, where `global` names nothing of it. */
  readonly runsAsProgram?: boolean;
}

/** As LiveCodeBench's harness: of each test, and together with what the rest may take. */
const TEST_SECONDS = 6;
const OWN_SECONDS = 5;
/** Wall time over processor time, on a machine that has more to do. */
const PATIENCE = 5;
const MEBIBYTE = 1024 * 1024;
const ANSWER_LENGTH = 4000;

const Verdict = z.object({
  passed: z.int().min(0),
  failure: z.object({ test: z.int(), kind: z.string(), message: z.string() }).nullable(),
});
type Verdict = z.infer<typeof Verdict>;

const CHECK = CHECK_PRELUDE + readFileSync(path.join(__dirname, 'tests_check.py'), 'utf8');

/**
 * 1 when code passes all of its tests in a sandbox; `tests_passed` is the share that it passes. A limit that it exceeds is named in the
 * details.
 */
export async function gradeWithTests(tested: TestedCode): Promise<Score> {
  const { code, answer = code, tests, stopsAtFirst, runsAsProgram = false } = tested;
  const testCount = 'assertions' in tests ? tests.assertions.length : tests.inputs.length;
  const run = await runTests(
    code,
    JSON.stringify({ ...tests, stopsAtFirst, asProgram: runsAsProgram, seconds: TEST_SECONDS }),
    testCount,
  );
  return { ...scoreOf(run, testCount), answer: answer.slice(0, ANSWER_LENGTH) };
}

function scoreOf({ said, result, sandbox }: WordedResult, testCount: number): Omit<Score, 'answer'> {
  const verdict = verdictIn(said ?? '');
  const { passed, failure } = verdict ?? { passed: 0, failure: null };
  const hasPassed = passed === testCount && failure === null;
  return {
    value: Number(hasPassed),
    explanation: hasPassed ? 'passed' : whyFailed(verdict, result),
    metrics: { tests_passed: passed / testCount },
    details: {
      ...{ sandbox, tests: testCount, passed },
      ...limitOf(verdict, result),
      ...(failure && { failure: failure.kind, test: failure.test }),
    },
  };
}

function runTests(code: string, tests: string, testCount: number): Promise<WordedResult> {
  const seconds = (TEST_SECONDS + 1) * testCount + OWN_SECONDS;
  return runWithWord({
    files: { 'solution.py': code, 'tests.json': tests, 'check.py': CHECK },
    timeoutMs: seconds * PATIENCE * 1000,
    limits: {
      cpuSeconds: seconds,
      outputBytes: 256 * 1024,
      ...(tests.length > MEBIBYTE && { memoryBytes: 1024 * MEBIBYTE, diskBytes: 256 * MEBIBYTE }),
    },
  });
}

function verdictIn(said: string): Verdict | null {
  try {
    return Verdict.parse(JSON.parse(said));
  } catch {
    return null;
  }
}

/** The limit that ended it: of one test, else of the whole run. */
function limitOf(verdict: Verdict | null, { limit }: ExecResult): { readonly limit?: string } {
  const kind = verdict?.failure?.kind;
  if (kind === 'time' || kind === 'memory') return { limit: kind };
  return limit === null ? {} : { limit };
}

function whyFailed(verdict: Verdict | null, { limit }: ExecResult): string {
  if (verdict?.failure) {
    const { test, kind, message } = verdict.failure;
    return `test ${test + 1}: ${kind}: ${message}`;
  }
  return limit === null ? 'ended before its tests were done' : `exceeded its limit: ${limit}`;
}
