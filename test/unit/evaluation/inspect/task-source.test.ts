import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { parseBenchmarkConfig } from '../../../../src/config/benchmark-config';
import { differencesOf, requestsFor } from '../../../../src/client/eval-requests';
import type { ModelSource } from '../../../../src/core/benchmark-run';
import {
  requireSameSource,
  requireTaskFile,
  withSource,
} from '../../../../src/evaluation/inspect/task-source';
import { differencesText } from '../../../../src/evaluation/runner/option-differences';
import { NO_PLUGINS } from '../../../../src/evaluation/plugins';
import { validateEvaluators } from '../../../../src/evaluation/validate-evaluators';

const WEIGHTS: ModelSource = { type: 'engine', model: 'everstep/tiny', path: 'tinker://a/1', label: 'run@1' };

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'everstep-task-source-'));
  write('mine.py', 'from inspect_ai import task\n');
});
afterEach(() => {
  rmSync(folder, { recursive: true });
});

function write(name: string, text: string): void {
  const file = path.join(folder, name);
  mkdirSync(path.dirname(file), { recursive: true });
  writeFileSync(file, text);
}

function source(): string | undefined {
  return withSource({ task: `${folder}/mine.py@sums`, args: {} }).source;
}

function asked(task: string, run?: string) {
  const config = parseBenchmarkConfig({ checkpoint: 'run@1' });
  const [request] = requestsFor(
    [`inspect:${folder}/${task}`],
    { config, source: WEIGHTS },
    { store: '/store', ...(run !== undefined && { run }) },
  );
  if (!request) throw new Error('nothing is asked');
  return request;
}

function differences(before: ReturnType<typeof asked>, now: ReturnType<typeof asked>): string {
  return differencesText(differencesOf(before, now));
}

test.each([
  ['its own file', 'mine.py', 'from inspect_ai import task\nx = 1\n'],
  ['a module beside it', 'scorers.py', 'x = 2'],
  ['what that imports from its own folder', 'deep.py', 'x = 2'],
  ['a module of a package beside it', 'parts/data.py', 'x = 2'],
  ['the package itself', 'parts/__init__.py', 'x = 2'],
])('a change of %s is another code', (_what, name, text) => {
  write('mine.py', 'import os, scorers as s  # both\nfrom parts import (data)\n');
  write('scorers.py', 'from . import deep\n');
  write('deep.py', 'import scorers\n');
  write('parts/__init__.py', '');
  write('parts/data.py', 'x = 1');
  const before = source();

  write(name, text);

  expect(source()).not.toBe(before);
});

test('what the task does not import makes no difference', () => {
  const before = source();

  write('other.py', 'x = 1');
  write('data.jsonl', '{}');

  expect(source()).toBe(before);
});

test('the same code is the same wherever it lies, and a task of a package has none', () => {
  write('moved/mine.py', 'from inspect_ai import task\n');

  expect(withSource({ task: `${folder}/moved/mine.py@sums`, args: {} }).source).toBe(source());
  expect(withSource({ task: 'inspect_evals/gsm8k', args: {} })).toEqual({
    task: 'inspect_evals/gsm8k',
    args: {},
  });
});

test('a task that was changed after it was asked for is refused', () => {
  const task = withSource({ task: `${folder}/mine.py`, args: {} });
  requireSameSource(task);

  write('mine.py', 'x = 1');

  expect(() => {
    requireSameSource(task);
  }).toThrow('was changed after it was asked for');
});

test.each(['absent.py@sums', 'absent.ipynb', 'mine.py/more.py'])(
  '%s is refused before anything runs',
  (task) => {
    expect(() => asked(task)).toThrow('there is no file');
    expect(() => {
      requireTaskFile(path.join(folder, task));
    }).toThrow('there is no file');
  },
);

test('a task whose file is a pipe is refused, and not waited for', () => {
  const file = path.join(folder, 'pipe.py');
  execFileSync('mkfifo', [file]);

  expect(() => {
    requireTaskFile(`${file}@sums`);
  }).toThrow(`inspect: ${file} cannot be read: it is no plain file, but a pipe`);
});

test('evaluators of a run are refused with the file that is not there', () => {
  const evaluator = (task: unknown) => ({ type: 'inspect', name: 'i', tasks: [task] }) as never;

  validateEvaluators([evaluator(`${folder}/mine.py@x`), evaluator('inspect_evals/gsm8k')], NO_PLUGINS);

  for (const task of [`${folder}/t3.py@broken`, { task: `${folder}/t3.py@broken`, args: {} }])
    expect(() => {
      validateEvaluators([evaluator(task)], NO_PLUGINS);
    }).toThrow(`there is no file ${folder}/t3.py`);
});

test('what is asked decides the name of an eval run: task, arguments, roles and code', () => {
  write('other.py', 'from inspect_ai import task\n');
  const tasks = [
    ...['mine.py@sums', 'mine.py@sums?count=2', 'mine.py@sums?count=4', 'other.py@sums'],
    'mine.py@sums?model-role=grader=openai/gpt-4o',
  ];
  const names = tasks.map((task) => asked(task).run);
  const again = asked('mine.py@sums?count=2').run;
  write('mine.py', 'x = 1');

  expect(new Set([...names, asked('mine.py@sums').run]).size).toBe(tasks.length + 1);
  expect(again).toBe(names[1]);
});

test.each([
  ['mine.py@sums?count=4', 'count 2, and 4 is asked for'],
  ['mine.py@sums', 'count 2, and unset is asked for'],
  ['mine.py@sums?count=2&model-role=grader=a/b', 'model-role grader unset, and "a/b" is asked for'],
])('%s is told from count=2 by name, with both values', (task, text) => {
  expect(differences(asked('mine.py@sums?count=2', 'same'), asked(task, 'same'))).toBe(text);
});

test('another file and other code are told, the same is none', () => {
  write('other.py', '');
  const before = asked('mine.py@sums', 'same');
  const other = differences(before, asked('other.py@sums', 'same'));
  const same = differences(before, asked('mine.py@sums', 'same'));
  write('mine.py', 'x = 1');

  expect(other).toBe(`the task "${folder}/mine.py@sums", and "${folder}/other.py@sums" is asked for`);
  expect(same).toBe('');
  expect(differences(before, asked('mine.py@sums', 'same'))).toMatch(/^the code of the task \(its hash\)/);
});
