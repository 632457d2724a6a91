import { readFileSync } from 'node:fs';
import path from 'node:path';
import type { ExecResult } from '../../../sandboxes/sandbox';
import type { Score } from '../grader';
import type { JudgedBy, Judgement, Verdict } from './judge-told';
import { judgeTold, PROGRAM_PRELUDE } from './judge-told';
import { requireFewTests } from './most-tests';
import type { WordedCheck } from './run-with-word';
import { drawWord, runWithWord } from './run-with-word';

/** What a program is run on, or statements that have to hold after it. */
export type Tests =
  | {
      readonly inputs: readonly string[];
      readonly outputs: readonly string[];
      /** The function that is called; null for programs that read standard input. */
      readonly functionName: string | null;
    }
  | {
      readonly assertions: readonly string[];
      /** Code of the task that assertions use, whatever the program makes of it. */
      readonly given?: string;
      /** What assertions ask the program for; what they use of it where absent. */
      readonly names?: readonly string[];
    };

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
/** What a run of one test may take. */
const LONGEST_SILENCE_MS = (TEST_SECONDS + 1 + OWN_SECONDS) * PATIENCE * 1000;
const MEBIBYTE = 1024 * 1024;
const ANSWER_LENGTH = 4000;

const CHECK = `${PROGRAM_PRELUDE}\n\n${readFileSync(path.join(__dirname, 'tests_check.py'), 'utf8')}`;

/**
 * 1 when code passes all of its tests in a sandbox; `tests_passed` is the share that it passes. A limit that it exceeds is named in the
 * details.
 */
export async function gradeWithTests(tested: TestedCode): Promise<Score> {
  const { code, answer = code, tests, stopsAtFirst, runsAsProgram = false } = tested;
  const testCount = 'assertions' in tests ? tests.assertions.length : tests.inputs.length;
  requireFewTests(testCount);
  const judged = await judgedTests(code, tests, { stopsAtFirst, asProgram: runsAsProgram });
  return { ...scoreOf(judged, testCount), answer: answer.slice(0, ANSWER_LENGTH) };
}

interface Judged extends Judgement {
  readonly sandbox: string;
}

/** The program never sees what is expected of its outputs and results, and is judged where it does not run. */
async function judgedTests(
  code: string,
  tests: Tests,
  how: { readonly stopsAtFirst: boolean; readonly asProgram: boolean },
): Promise<Judged> {
  const word = drawWord();
  const bounds = boundsOf(tests);
  const asked =
    'assertions' in tests
      ? { assertions: tests.assertions, names: tests.names ?? null }
      : { inputs: tests.inputs, functionName: tests.functionName };
  const { said, result, sandbox } = await runWithWord({
    files: {
      'solution.py': code,
      'tests.json': JSON.stringify({ ...asked, ...how, seconds: TEST_SECONDS }),
      'check.py': CHECK,
    },
    ...bounds,
    word,
  });
  if (said === null) return { verdict: null, result, sandbox };
  if (result.isStdoutCut) return { verdict: null, result: { ...result, limit: 'output' }, sandbox };
  const by = judgedBy(tests, { stopsAtFirst: how.stopsAtFirst, seed: word });
  return { ...(await judgeTold(said, by, bounds)), sandbox };
}

function judgedBy(
  tests: Tests,
  { stopsAtFirst, seed }: { readonly stopsAtFirst: boolean; readonly seed: string },
): JudgedBy {
  if (!('assertions' in tests))
    return { outputs: tests.outputs, functionName: tests.functionName, stopsAtFirst };
  const { assertions, given = '', names = null } = tests;
  return { assertions, given, names, seed, stopsAtFirst };
}

function scoreOf({ verdict, result, sandbox }: Judged, testCount: number): Omit<Score, 'answer'> {
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

/**
 * Room for what correct programs give; a program that gives more is told as one that exceeds its output. It can stop
 * itself and the timers beside it, so that whoever reads its output has to see that no test comes to an end.
 */
function boundsOf(tests: Tests): Pick<WordedCheck, 'timeoutMs' | 'limits' | 'silence'> {
  const count = 'assertions' in tests ? tests.assertions.length : tests.inputs.length;
  const seconds = (TEST_SECONDS + 1) * count + OWN_SECONDS;
  const size = JSON.stringify(tests).length;
  return {
    timeoutMs: seconds * PATIENCE * 1000,
    silence: { limitMs: LONGEST_SILENCE_MS, lineCount: count },
    limits: {
      cpuSeconds: seconds,
      outputBytes: 4 * MEBIBYTE + 2 * ('outputs' in tests ? JSON.stringify(tests.outputs).length : 0),
      ...(size > MEBIBYTE && { memoryBytes: 1024 * MEBIBYTE, diskBytes: 256 * MEBIBYTE }),
    },
  };
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
