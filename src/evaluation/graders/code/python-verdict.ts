import { readFileSync } from 'node:fs';
import path from 'node:path';
import type { ExecResult } from '../../../sandboxes/sandbox';
import type { Score } from '../grader';
import { runWithWord } from './run-with-word';

/** Code with tests, to be run to its end. */
export interface CodeUnderTest {
  /** What is shown as the answer; blank code is not run. */
  readonly answer: string;
  /** The code, with what it needs beside what is shown as the answer. */
  readonly program: string;
  /** Statements that hold after it. */
  readonly tests: string;
}

/** Goes before a check. */
export const CHECK_PRELUDE = readFileSync(path.join(__dirname, 'check_prelude.py'), 'utf8');
/** Said behind the word; nothing where all is well. */
const OWN = 'own';
const LATE = 'late';
const EXPLAINED: ReadonlyMap<string | null, string> = new Map([
  ['', 'passed'],
  [OWN, 'a result is of a class that says itself what it is equal to'],
]);
const ANSWER_LENGTH = 4000;
const ERROR_LENGTH = 300;
/** Generous, since a busy machine must not change a verdict: reference solutions take less than a second. */
const LIMITS = { cpuSeconds: 10, outputBytes: 64 * 1024 };
const TIMEOUT_MS = 60_000;
/** Also of a program that sleeps, as in the official scripts; time in which the machine was busy with others does not count. */
const WALL_SECONDS = 10;

/**
 * Runs the program as a module of its own, its tests behind it, and then says the word it was given, so that a program that ends itself
 * early has not passed; and whether a result compared as the program likes. Its output goes to standard error, and the files that it
 * and its tests stand in are gone before it starts. `exit` and `quit` are those of an interpreter with its module `site`.
 */
const HARNESS = `import builtins, sys, time
began, starved = time.monotonic(), starved_seconds()
builtins.exit = builtins.quit = sys.exit
word = sys.stdin.readline().strip()
out, sys.stdout = sys.stdout, sys.stderr
sources = {}
for name in ("program.py", "tests.py"):
    with open(name, encoding="utf-8") as file:
        sources[name] = file.read()
    try:
        os.remove(name)
    except OSError:
        pass
module = sys.modules["program"] = types.ModuleType("program")
exec(compile(sources["program.py"], "program.py", "exec"), module.__dict__)
results = OwnComparisons()
tested = {name: results.watched(value) for name, value in list(module.__dict__.items())}
exec(compile(sources["tests.py"], "tests.py", "exec"), tested)
waited = time.monotonic() - began - (starved_seconds() - starved)
out.write(word + ("late" if waited > ${WALL_SECONDS} else "own" if results.found else ""))
out.flush()
`;

/**
 * 1 when the program and its tests run to their end without an error, in a sandbox. Where that is so because a result compares as the
 * program likes, it is 0, and `details.official` is the 1 that the official script gives. A sandbox that is lost is no verdict: it is
 * replaced, and in the end told as an error.
 */
export async function pythonVerdict({ answer, program, tests }: CodeUnderTest): Promise<Score> {
  if (answer.trim() === '') return { value: 0, answer: null, explanation: 'no code' };
  const { result, said, sandbox } = await runWithWord({
    files: { 'program.py': program, 'tests.py': tests, 'check.py': `${CHECK_PRELUDE}${HARNESS}` },
    timeoutMs: TIMEOUT_MS,
    limits: LIMITS,
  });
  const ended: ExecResult = said === LATE ? { ...result, limit: 'time' } : result;
  return {
    value: Number(said === ''),
    answer: answer.slice(0, ANSWER_LENGTH),
    explanation: EXPLAINED.get(said) ?? whyFailed(ended),
    details: {
      sandbox,
      ...(said === OWN && { official: 1 }),
      ...(ended.limit !== null && { limit: ended.limit }),
      ...(ended.exitCode !== null && { exitCode: ended.exitCode }),
    },
  };
}

function whyFailed({ limit, exitCode, stderr }: ExecResult): string {
  if (limit !== null) return `exceeded its limit: ${limit}`;
  if (exitCode === 0) return 'ended before its tests were done';
  const lastLine = stderr.trimEnd().split('\n').at(-1)?.trim() ?? '';
  return (lastLine || `ended with exit code ${String(exitCode)}`).slice(0, ERROR_LENGTH);
}
