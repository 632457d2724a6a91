import {
  absoluteInspectName,
  distinctTaskNames,
  inspectBenchmarks,
  readInspectTask,
} from '../../../../src/evaluation/inspect/task-name';

test.each([
  ['inspect:inspect_evals/gsm8k', 'inspect_evals/gsm8k', {}, 'inspect_gsm8k'],
  [
    'inspect:/a/math.py@sums?count=4&kind=hard',
    '/a/math.py@sums',
    { count: 4, kind: 'hard' },
    'inspect_sums',
  ],
  ['inspect:/a/my-task.py', '/a/my-task.py', {}, 'inspect_my_task'],
])('reads %s', (name, task, args, called) => {
  expect(inspectBenchmarks([name])).toEqual([{ benchmark: called, inspectTask: { task, args } }]);
});

test('models of roles stand beside the arguments and are none', () => {
  expect(readInspectTask('inspect:qa?count=2&model-role=grader=openai/gpt-4o&model-role=critic=x/y')).toEqual(
    {
      task: 'qa',
      args: { count: 2 },
      roles: { grader: 'openai/gpt-4o', critic: 'x/y' },
    },
  );
  expect(() => readInspectTask('inspect:qa?model-role=openai/gpt-4o')).toThrow('ROLE=MODEL');
});

test('a file is named by its whole path, and another name is none of Inspect', () => {
  expect(absoluteInspectName('inspect:my.py@sums?n=1', '/here')).toBe('inspect:/here/my.py@sums?n=1');
  expect(absoluteInspectName('gsm8k', '/here')).toBeNull();
  expect(() => readInspectTask('inspect:')).toThrow('names no task');
});

test.each([
  ['the file', ['/x/a.py@t', '/x/b.py@t'], ['a-t', 'b-t']],
  ['the package', ['one/t', 'two/t'], ['one-t', 'two-t']],
  ['the folder', ['/a/t.py@t', '/b/t.py@t'], ['a-t-t', 'b-t-t']],
  ['nothing where nothing is alike', ['/a/t.py@t', '/b/t.py@u'], ['t', 'u']],
])('two tasks of one name are told apart by %s', (_what, tasks, names) => {
  const asked = tasks.map((task) => ({ task: { task, args: {} }, name: null }));

  expect(distinctTaskNames(asked)).toEqual(names);
});

test('two of one place are told apart by what they are given, the same way every time', () => {
  const asked = [1, 2].map((count) => ({ task: { task: 'p/t', args: { count } }, name: null }));

  const names = distinctTaskNames(asked);

  expect(new Set(names).size).toBe(2);
  expect(names[0]).toMatch(/^t-[0-9a-f]{8}$/);
  expect(distinctTaskNames([...asked].reverse())).toEqual([...names].reverse());
});

test('a name that a person gave is used', () => {
  const asked = [1, 2].map((count) => ({ task: { task: 'p/t', args: { count } }, name: `t${count}` }));

  expect(distinctTaskNames(asked)).toEqual(['t1', 't2']);
});

test('benchmarks of one command have names of their own', () => {
  const names = inspectBenchmarks(['inspect:/a/x.py@t', 'gsm8k', 'inspect:/a/y.py@t']);

  expect(names.map((each) => each?.benchmark)).toEqual(['inspect_x_t', undefined, 'inspect_y_t']);
});
