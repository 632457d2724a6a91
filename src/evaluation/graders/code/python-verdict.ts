import type { ExecResult } from '../../../sandboxes/sandbox';
import type { Score } from '../grader';
import type { Judgement } from './judge-told';
import { heldBeside, judgeTold, PROGRAM_PRELUDE } from './judge-told';
import { drawWord, runWithWord } from './run-with-word';

/** Code with tests, to be run to its end. */
export interface CodeUnderTest {
  /** What is shown as the answer; blank code is not run. */
  readonly answer: string;
  /** The code, with what it needs beside what is shown as the answer. */
  readonly program: string;
  /** Statements that hold after it. */
  readonly tests: string;
  /** Code of the task that tests use, whatever the program makes of it. */
  readonly given: string;
  /** What tests ask the program for; what they use of it where null. */
  readonly names: readonly string[] | null;
}

/** Said behind the word in place of what the tests asked. */
const LATE = 'late';
const ANSWER_LENGTH = 4000;
const ERROR_LENGTH = 300;
/** Generous, since a busy machine must not change a verdict: reference solutions take less than a second. */
const LIMITS = { cpuSeconds: 10, outputBytes: 4 * 1024 * 1024 };
const TIMEOUT_MS = 60_000;
/** Also of a program that sleeps, as in the official scripts; time in which the machine was busy with others does not count. */
const WALL_SECONDS = 10;

/**
 * Runs the program as a module of its own, its tests behind it, and then says the word it was given, so that a program that ends itself
 * early has not passed; and what its tests asked of it. Its output goes to standard error, and the files that it and its tests stand in
 * are gone before it starts. `exit` and `quit` are those of an interpreter with its module `site`.
 */
const HARNESS = `import builtins, time
began, starved = time.monotonic(), starved_seconds()
builtins.exit = builtins.quit = sys.exit
word = sys.stdin.readline().strip()
out, sys.stdout = sys.stdout, sys.stderr
sources = {}
for name in ("program.py", "tests.py", "names.json"):
    with open(name, encoding="utf-8") as file:
        sources[name] = file.read()
    try:
        os.remove(name)
    except OSError:
        pass
module = sys.modules["program"] = types.ModuleType("program")
record = Record(chance_of([sources["tests.py"]], word))
exec(compile(sources["program.py"], "program.py", "exec"), module.__dict__)
names = json.loads(sources["names.json"]) or used_in(sources["tests.py"])
exports, tested = record.begin(module.__dict__, names, sources["tests.py"])
run_tests(sources["tests.py"], "tests.py", tested)
waited = time.monotonic() - began - (starved_seconds() - starved)
told = [record.told(exports), {"kinds": record.kinds}]
out.write(word + ("${LATE}" if waited > ${WALL_SECONDS} else "\\n".join(json.dumps(each) for each in told)))
out.flush()
`;

/**
 * 1 when the program and its tests run to their end without an error, in a sandbox, and the tests hold without it for what it gave.
 * Where they hold only beside it, it is 0, and `details.official` is the 1 that the official script gives. A sandbox that is lost is no
 * verdict: it is replaced, and in the end told as an error.
 */
export async function pythonVerdict({ answer, program, tests, given, names }: CodeUnderTest): Promise<Score> {
  if (answer.trim() === '') return { value: 0, answer: null, explanation: 'no code' };
  const word = drawWord();
  const bounds = { timeoutMs: TIMEOUT_MS, limits: LIMITS };
  const { result, said, sandbox } = await runWithWord({
    files: {
      'program.py': program,
      'tests.py': tests,
      'names.json': JSON.stringify(names),
      'check.py': `${PROGRAM_PRELUDE}\n\n${HARNESS}`,
    },
    ...bounds,
    word,
  });
  const ended = endedAs(result, said);
  const judgement =
    said === null || ended.limit !== null
      ? null
      : await judgeTold(said, { assertions: [tests], given, names, seed: word, stopsAtFirst: true }, bounds);
  return {
    value: Number(judgement?.verdict?.passed === 1),
    answer: answer.slice(0, ANSWER_LENGTH),
    explanation: judgement ? explained(judgement) : whyFailed(ended),
    details: { sandbox, ...detailsOf(judgement, ended) },
  };
}

function endedAs(result: ExecResult, said: string | null): ExecResult {
  if (said === LATE) return { ...result, limit: 'time' };
  return said !== null && result.isStdoutCut ? { ...result, limit: 'output' } : result;
}

function explained({ verdict, result }: Judgement): string {
  if (verdict?.failure) return verdict.failure.message.slice(0, ERROR_LENGTH);
  return verdict === null ? whyFailed(result) : 'passed';
}

function detailsOf(judgement: Judgement | null, { limit, exitCode }: ExecResult): Score['details'] {
  return {
    ...(judgement && heldBeside(judgement.verdict) && { official: 1 }),
    ...(limit !== null && { limit }),
    ...(exitCode !== null && { exitCode }),
  };
}

function whyFailed({ limit, exitCode, stderr }: ExecResult): string {
  if (limit !== null) return `exceeded its limit: ${limit}`;
  if (exitCode === 0) return 'ended before its tests were done';
  const lastLine = stderr.trimEnd().split('\n').at(-1)?.trim() ?? '';
  return (lastLine || `ended with exit code ${String(exitCode)}`).slice(0, ERROR_LENGTH);
}
