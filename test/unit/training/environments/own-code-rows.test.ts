import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { processSandboxes } from '../../../../src/sandboxes/process-sandboxes';
import { buildCode, fenced, replyIn } from './code-replies';

let folder: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'own-code-rows-'));
});

afterAll(async () => {
  await processSandboxes.close();
  rmSync(folder, { recursive: true, force: true });
});

const build = async (file: { readonly path: string }) => buildCode(file);
const reply = async (question: string, content: string, file: { readonly path: string }) =>
  replyIn(await build(file), question, content);

describe('tests in a table', () => {
  const inTable = (names: string, cells: readonly string[]) => {
    const file = join(folder, 'table.csv');
    writeFileSync(file, `${names}\n${cells.map((cell) => `"${cell.replaceAll('"', '""')}"`).join(',')}\n`);
    return { path: file };
  };

  test('JSON text of a list is the list, of imports and setup too', async () => {
    const table = inTable('text,test_list,test_imports,test_setup_code', [
      'Add one',
      '["assert f(1) == 2", "assert f(math.inf) == limit"]',
      '["import math"]',
      '["limit = math.inf"]',
    ]);

    expect(await reply('Add one', fenced('def f(n):\n    return n'), table)).toMatchObject({
      ...{ reward: 0, metrics: { tests_passed: 0.5 } },
    });
    expect(await reply('Add one', fenced('def f(n):\n    return n + 1'), table)).toMatchObject({ reward: 1 });
    expect(
      await reply('\n\nassert f(1) == 2\nassert f('.replaceAll('\n', String.raw`\n`), '', table),
    ).toMatchObject({
      metrics: { format: 0 },
    });
  });

  test('one assertion is one', async () => {
    const table = inTable('text,test_list,input_output', ['Add one', 'assert f(1) == 2', '']);

    expect(await reply('Add one', fenced('def f(n):\n    return 3'), table)).toMatchObject({ reward: 0 });
  });

  test.each([
    ['test_list', "['assert False']", /is a list that is no JSON. Write it as JSON/],
    ['test_list', "('assert False',)", /no list of assertions, nor one assertion. Write JSON: \["assert f/],
    ['test_list', '"assert False"', /no list of assertions, nor one assertion/],
    ['test_list', '["[\'assert False\']"]', /no list of assertions, nor one assertion/],
    ['test_list', '[1]', /no list of texts/],
    ['test_list', 'True', /no list of assertions, nor one assertion/],
    ['test_list', 'assert f(1)\nassert f(2)', /no list of assertions, nor one assertion/],
    [
      'input_output',
      "{'inputs': ['1'], 'outputs': ['1']}",
      /no JSON of lists "inputs" and "outputs" under "input_output"/,
    ],
  ])('%s of %s is refused by row and field', async (field, cell, words) => {
    const building = build(inTable(`text,${field}`, ['Add one', cell]));

    await expect(building).rejects.toThrow(words);
    await expect(building).rejects.toThrow(new RegExp(`table\\.csv line 2: .*"${field}"`));
  });

  test('imports that Python printed are refused', async () => {
    const table = inTable('text,test_list,test_imports', ['Add one', 'assert f(1) == 2', "['import math']"]);

    await expect(build(table)).rejects.toThrow(/field "test_imports": is a list that is no JSON/);
  });
});

describe('what tests ask for and the question does not', () => {
  const ownRow = (row: object) => {
    const file = join(folder, 'asked.jsonl');
    writeFileSync(file, JSON.stringify(row));
    return { path: file };
  };
  const called = { fn_name: 'plus', inputs: [[1, 2]], outputs: [[3]] };

  test('the function that inputs and outputs call is asked for by its head', async () => {
    const own = ownRow({ prompt: 'Add.', input_output: JSON.stringify(called) });
    const dataset = await build(own);

    const { messages } = await dataset.groupAt(0).make(0).initialObservation();
    expect(messages[0]?.content).toMatch(/starter code[^]*```python\ndef plus\(argument_1, argument_2\):\n/);
    expect(messages[0]?.content).not.toContain('stdin');
    expect(await reply('Add.', fenced('def plus(a, b):\n    return a + b'), own)).toMatchObject({
      reward: 1,
    });
  });

  test.each([
    ['an object', { inputs: ['1\n'], outputs: ['1\n'] }],
    ['JSON text', '{"inputs": ["1\\n"], "outputs": ["1\\n"]}'],
  ])('tests of verl as %s are run', async (_, truth) => {
    const own = ownRow({
      prompt: [{ role: 'user', content: 'Echo.' }],
      reward_model: { style: 'rule', ground_truth: truth },
    });

    expect(await reply('Echo.', fenced('print(input())'), own)).toMatchObject({ reward: 1 });
    expect(await reply('Echo.', fenced('print(2)'), own)).toMatchObject({ reward: 0 });
  });

  test.each([
    [
      {
        ...{ prompt: 'Echo.', test_list: ['assert f(1)'] },
        reward_model: { ground_truth: { inputs: ['1'], outputs: ['1'] } },
      },
      /line 1: has tests under "test_list" and under "reward_model.ground_truth".* Remove one/,
    ],
    [
      { prompt: 'Echo.', input_output: { inputs: ['1', '2'], outputs: ['1'] } },
      /line 1: "input_output" has 2 "inputs" and 1 "outputs"\. Give an output for each input\./,
    ],
    [
      { prompt: 'Echo.', test_list: ['assert f(1)'], input_output: { inputs: ['1'], outputs: ['1'] } },
      /line 1: has tests under "test_list" and under "input_output".* Remove one/,
    ],
    [
      {
        prompt: 'Echo.',
        public_test_cases: [{ input: '1', output: '1' }],
        input_output: { inputs: ['1'], outputs: ['1'] },
      },
      /has tests under "public_test_cases" and under "input_output"/,
    ],
    [
      { messages: [{ role: 'user', content: 'Add.' }], input_output: called },
      /line 1: its tests call "plus", which the question does not name/,
    ],
    [{ prompt: 'Add.', starter_code: 'class Solution:', input_output: called }, /its tests call "plus"/],
    [{ prompt: 'Give it.', entry_point: 'two', test: 'def check(c): ...' }, /its tests call "two"/],
    [
      { messages: [{ role: 'user', content: ' ' }], test_list: ['assert f(1)'] },
      /line 1: no question under "messages"/,
    ],
    [
      { prompt: 'Write f.', test_list: ['assert f(1)'], test: 'assert f(2)' },
      /line 1: has "test", .* no "entry_point".* remove "test"/,
    ],
    [
      { prompt: 'def two():\n', entry_point: 'two', test: 'assert two() == 2' },
      /line 1: field "test": defines no function "check".* put them into "test_list"/,
    ],
    [
      { prompt: 'Write f.', test_list: ['assert f(1)'], plus_input: [[2]] },
      /line 1: field "plus_input": inputs without outputs are not run/,
    ],
    [{ prompt: ' ', test_list: ['assert f(1)'] }, /line 1: no question under "prompt" or "text"/],
    [{ prompt: 'Add one', test_list: ['assert f(1)'], hint: 'Use +' }, /field "hint": it would not be asked/],
  ])('is refused: %j', async (row, words) => {
    await expect(build(ownRow(row))).rejects.toThrow(words);
  });
});
