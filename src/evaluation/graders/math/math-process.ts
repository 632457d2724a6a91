import path from 'node:path';
import { pyodideCommand } from '../../../sandboxes/pyodide/pyodide-command';
import { python3Command } from '../../../sandboxes/pyodide/python3-command';
import type { PythonProgram, PythonWheel } from '../../../sandboxes/pyodide/python-program';
import type { TimedAnswer } from '../../../sandboxes/pyodide/warm-process';
import { WarmProcess } from '../../../sandboxes/pyodide/warm-process';

/** The interpreter that answers. */
export type MathInterpreter = 'pyodide' | 'python3';

export const QUESTION_LIMIT_MS = 5000;
const MEMORY_LIMIT_BYTES = 768 * 1024 * 1024;
const WHEELS_FOLDER = path.join(__dirname, '../../../../vendor/python');

/** Pinned with `vendor/python/README.md`; a change moves scores. */
const WHEELS: readonly PythonWheel[] = [
  wheel(
    'antlr4-python3-runtime',
    '4.13.2',
    'fe3835eb8d33daece0e799090eda89719dbccee7aa39ef94eed3818cafa5a7e8',
  ),
  wheel(
    'latex2sympy2_extended',
    '1.11.0',
    'aebb77d52ce269e25028e4bea89ddb14d242ba36bcf7b636496fb5fd9728d234',
  ),
  wheel('math-verify', '0.9.0', '3703e7c4885354027fa84409d762a596a2906d1fd4deb78361876bd905a76194'),
  wheel('mpmath', '1.3.0', 'a0b2b9fe80bbcd81a6647ff13108738cfb482d481d826cc0e02f5b35e5c88d2c'),
  wheel('sympy', '1.14.0', 'e091cc3e99d2141a0ba2847328f5479b05d94a6635cb96148ccb3f34671bd8f5'),
];

/** They load what sympy loads on first use: algebra, special functions, sets, matrices. */
const WARM_UP: readonly string[] = [
  ['value', '\\frac{1}{2}+\\sqrt{8}', '0.5+2\\sqrt{2}'],
  ['value', '\\sin^2 x+\\cos^2 x-f(x)', '1-f(x)'],
  ['value', '\\log_2(x)+\\binom{n}{2}', '\\ln y'],
  ['value', '\\begin{pmatrix}1&2\\\\3&4\\end{pmatrix}', '\\begin{pmatrix}1&2\\\\3&5\\end{pmatrix}'],
  ['set', '(-\\infty,2)\\cup(2,\\infty)', '\\mathbb{R}\\setminus\\{2\\}'],
].map(([kind, given, expected]) => JSON.stringify({ kind, given, expected }));

const MATH_PROGRAM: PythonProgram = {
  name: 'math',
  path: path.join(__dirname, 'math_questions.py'),
  wheels: WHEELS,
  warmUp: WARM_UP,
  memoryLimitBytes: MEMORY_LIMIT_BYTES,
  questionLimitMs: QUESTION_LIMIT_MS,
};

/**
 * The process behind the exact path: the system's Python where it has the pinned packages, since it starts in half a second, else Pyodide
 * from the snapshot.
 */
export class MathProcess {
  interpreter: MathInterpreter = 'pyodide';
  private readonly process = new WarmProcess({
    name: 'The process for exact mathematics',
    command: async () => {
      const system = await python3Command(MATH_PROGRAM);
      this.interpreter = system ? 'python3' : 'pyodide';
      return system ?? pyodideCommand(MATH_PROGRAM);
    },
  });

  ask(question: string, limitMs: number): Promise<TimedAnswer> {
    return this.process.ask(question, limitMs);
  }

  close(): Promise<void> {
    return this.process.close();
  }
}

function wheel(name: string, version: string, sha256: string): PythonWheel {
  const file = `${name.replaceAll('-', '_')}-${version}-py3-none-any.whl`;
  return { name, version, path: path.join(WHEELS_FOLDER, file), sha256 };
}
