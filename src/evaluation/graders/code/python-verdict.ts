import type { ExecResult } from '../../../sandboxes/sandbox';
import type { Score } from '../grader';
import { runWithWord } from './run-with-word';

/** Code with tests, to be run to its end. */
export interface CodeUnderTest {
  /** What is shown as the answer; blank code is not run. */
  readonly answer: string;
  /** The whole program: code and tests. */
  readonly program: string;
}

const ANSWER_LENGTH = 4000;
const ERROR_LENGTH = 300;
/** Generous, since a busy machine must not change a verdict: reference solutions take less than a second. */
const LIMITS = { cpuSeconds: 10, outputBytes: 64 * 1024 };
const TIMEOUT_MS = 60_000;

/**
 * Runs the program as a module of its own and then says the word it was given, so that a program that ends itself early has not passed.
 * Its output goes to standard error, and the file that its tests stand in is gone before it starts. `exit` and `quit` are those of an interpreter with its module `site`.
 */
const HARNESS = `import builtins, os, sys, types
builtins.exit = builtins.quit = sys.exit
word = sys.stdin.readline().strip()
out, sys.stdout = sys.stdout, sys.stderr
with open("program.py", encoding="utf-8") as file:
    source = file.read()
try:
    os.remove("program.py")
except OSError:
    pass
module = sys.modules["program"] = types.ModuleType("program")
exec(compile(source, "program.py", "exec"), module.__dict__)
out.write(word)
out.flush()
`;

/**
 * 1 when the program runs to its end without an error, in a sandbox. A sandbox that is lost is no verdict: it is
 * replaced, and in the end told as an error.
 */
export async function pythonVerdict({ answer, program }: CodeUnderTest): Promise<Score> {
  if (answer.trim() === '') return { value: 0, answer: null, explanation: 'no code' };
  const { result, said, sandbox } = await runWithWord({
    files: { 'program.py': program, 'check.py': HARNESS },
    timeoutMs: TIMEOUT_MS,
    limits: LIMITS,
  });
  const hasPassed = said === '';
  return {
    value: Number(hasPassed),
    answer: answer.slice(0, ANSWER_LENGTH),
    explanation: hasPassed ? 'passed' : whyFailed(result),
    details: {
      sandbox,
      ...(result.limit !== null && { limit: result.limit }),
      ...(result.exitCode !== null && { exitCode: result.exitCode }),
    },
  };
}

function whyFailed({ limit, exitCode, stderr }: ExecResult): string {
  if (limit !== null) return `exceeded its limit: ${limit}`;
  if (exitCode === 0) return 'ended before its tests were done';
  const lastLine = stderr.trimEnd().split('\n').at(-1)?.trim() ?? '';
  return (lastLine || `ended with exit code ${String(exitCode)}`).slice(0, ERROR_LENGTH);
}
