import { deflateSync } from 'node:zlib';
import { codeTests } from '../../../../../src/evaluation/graders/code/code-tests';
import {
  lastFencedCode,
  livecodebench,
} from '../../../../../src/evaluation/graders/code/livecodebench/livecodebench';
import { readPickledText } from '../../../../../src/evaluation/graders/code/livecodebench/pickled-text';
import { testCasesOf } from '../../../../../src/evaluation/graders/code/livecodebench/test-cases';
import { processSandboxes } from '../../../../../src/sandboxes/process-sandboxes';

afterAll(() => processSandboxes.close());

/** What Python's pickle makes of a text: protocol 4 in a frame, protocol 3, or protocol 4 with few characters. */
function pickled(text: string, form: 'framed' | 'plain' | 'short' = 'framed'): string {
  const bytes = Buffer.from(text);
  const length = Buffer.alloc(4);
  length.writeUInt32LE(bytes.length);
  const frame = Buffer.concat([Buffer.from([0x95]), Buffer.alloc(8)]);
  const body = {
    framed: [Buffer.from([0x80, 4]), frame, Buffer.from('X'), length, bytes, Buffer.from([0x94])],
    plain: [Buffer.from([0x80, 3]), Buffer.from('X'), length, bytes, Buffer.from('q\0')],
    short: [Buffer.from([0x80, 4]), frame, Buffer.from([0x8c, bytes.length]), bytes, Buffer.from([0x94])],
  }[form];
  return deflateSync(Buffer.concat([...body, Buffer.from('.')])).toString('base64');
}

const fenced = (code: string) => `\`\`\`python\n${code}\n\`\`\``;

const SUM = {
  public_test_cases: JSON.stringify([{ input: '1 2\n', output: '3\n', testtype: 'stdin' }]),
  private_test_cases: pickled(JSON.stringify([{ input: '10 -4\n', output: '6', testtype: 'stdin' }])),
  metadata: '{}',
};
const SHIFT = {
  public_test_cases: JSON.stringify([{ input: '[1, 2]\n3', output: '[4, 5]', testtype: 'functional' }]),
  private_test_cases: JSON.stringify([{ input: '[]\n1', output: '[]', testtype: 'functional' }]),
  metadata: '{"func_name": "shift"}',
};

describe('private tests', () => {
  test.each(['framed', 'plain', 'short'] as const)('are read from a %s pickle that holds a text', (form) => {
    expect(readPickledText(pickled('[{"ü": 1}]', form))).toBe('[{"ü": 1}]');
  });

  test.each([
    ['a pickle that calls something', Buffer.from("cos\nsystem\n(S'true'\ntR.")],
    ['a pickle that loads a global', Buffer.from([0x80, 4, 0x8c, 2, 0x6f, 0x73, 0x93, 0x2e])],
    ['a pickle that ends in the middle', Buffer.from([0x80, 4, 0x58, 9, 0, 0, 0, 0x61])],
    ['a pickle with two texts', Buffer.from([0x80, 4, 0x8c, 1, 0x61, 0x8c, 1, 0x62, 0x2e])],
  ])('refuse %s', (_, bytes) => {
    expect(() => readPickledText(deflateSync(bytes).toString('base64'))).toThrow('private tests');
  });

  test('refuse what is not compressed', () => {
    expect(() => readPickledText('bm90aGluZw==')).toThrow('no compressed text');
  });

  test.each([
    ['millions of objects', `[${'{},'.repeat(2_000_000)}{}]`, 'are the most'],
    ['lists in lists', '['.repeat(1_000_000), 'more than 100 deep'],
    ['a text of many times its size', Buffer.alloc(80 * 1024 * 1024, 'a').toString(), 'bytes unpacked'],
  ])('that would become %s are refused before they are read', (_, text, reason) => {
    expect(() => testCasesOf({ private_test_cases: pickled(text, 'plain') })).toThrow(reason);
  });

  test('of arguments that lie deep in one another are refused', () => {
    const deep = '['.repeat(20_000) + ']'.repeat(20_000);
    const row = { input_output: `{"inputs": [[${deep}]], "outputs": [1], "fn_name": "f"}` };

    expect(() => testCasesOf(row)).toThrow('more than 100 deep');
  });

  test('follow the public ones, and name the function', () => {
    expect(testCasesOf(SUM)).toEqual({
      inputs: ['1 2\n', '10 -4\n'],
      outputs: ['3\n', '6'],
      functionName: null,
    });
    expect(testCasesOf(SHIFT).functionName).toBe('shift');
    expect(() => testCasesOf({ question_id: '1' })).toThrow('public_test_cases');
  });
});

test.each([
  ['```python\na = 1\n```', 'a = 1'],
  ['```\nfirst\n```\nthen\n```python\nlast\n```\nDone.', 'last'],
  ['no code', ''],
  ['```python\nnever closed', ''],
])('of %j the code is %j', (reply, code) => {
  expect(lastFencedCode(reply)).toBe(code);
});

describe('programs on standard input', () => {
  test.each([
    ['print(sum(map(int, input().split())))', 1],
    ['import sys\nprint(sum(map(int, sys.stdin.buffer.readline().split())))', 1],
    ['from sys import stdin\nprint(sum(map(int, stdin.read().split())))', 1],
    ['a, b = map(int, open(0).read().split())\nprint(a + b)', 1],
    ['def main():\n    print(sum(map(int, input().split())))\nif __name__ == "__main__":\n    main()', 1],
    ['print(sum(map(int, input().split())), "  ")\nexit()', 1],
    ['print(float(sum(map(int, input().split()))))', 1],
    ['print(sum(map(int, input().split())) + 1e-9)', 0],
    ['print(3)', 0],
    ['print("sum:", sum(map(int, input().split())))', 0],
    ['print(sum(map(int, input().split())))\nprint()\nprint(1)', 0],
    ['seen = []\nseen.append(1)\nprint(sum(map(int, input().split())) if len(seen) == 1 else 0)', 1],
  ])('%j scores %d', async (code, value) => {
    const score = await livecodebench.grade(fenced(code), SUM);

    expect({ value: score.value, why: score.explanation }).toMatchObject({ value });
  });

  test('the tests are not there to be read', async () => {
    const code = [
      'import io, json',
      'given = input()',
      'for name in ("tests.json", "solution.py"):',
      '    tests = json.load(io.open(name))',
      '    print(tests["outputs"][tests["inputs"].index(given + "\\n")])',
    ];

    const score = await livecodebench.grade(fenced(code.join('\n')), SUM);

    expect(score.value).toBe(0);
    expect(score.explanation).toContain('FileNotFoundError');
  });

  test.each([
    ['wrong syntax', 'def (:', 'compile'],
    ['an error', 'print(1 // 0)', 'error: ZeroDivisionError'],
    ['too much memory', 'print(len([bytearray(10 ** 8) for _ in range(100)]))', 'memory'],
    ['an early end of the process', 'import os\nos._exit(0)', 'ended before its tests were done'],
  ])('%s is a reason for 0', async (_, code, reason) => {
    const score = await livecodebench.grade(fenced(code), SUM);

    expect(score.value).toBe(0);
    expect(score.explanation).toContain(reason);
  });

  test('a test that takes too long ends it, and the limit is named', async () => {
    const score = await livecodebench.grade(fenced('while True:\n    pass'), SUM);

    expect(score).toMatchObject({ value: 0, details: { limit: 'time', passed: 0, tests: 2 } });
  });
});

describe('functions', () => {
  test.each([
    [
      'class Solution:\n    def shift(self, values: List[int], by: int):\n        return [v + by for v in values]',
      1,
    ],
    ['def shift(values, by):\n    return tuple(v + by for v in values)', 1],
    ['def shift(values, by):\n    return [4, 5]', 0],
    ['def other(values, by):\n    return []', 0],
  ])('%j scores %d', async (code, value) => {
    expect(await livecodebench.grade(fenced(code), SHIFT)).toMatchObject({ value });
  });

  const always = 'def __eq__(self, other): return True\n    def __ne__(self, other): return False';
  test.each([
    ['an object that equals everything', `class Any:\n    ${always}\ndef shift(values, by): return Any()`, 0],
    ['such a list', `class Any(list):\n    ${always}\ndef shift(values, by): return Any()`, 0],
    [
      'a list of such numbers',
      `class Any(int):\n    ${always}\ndef shift(values, by): return [Any(0) for _ in values]`,
      0,
    ],
    [
      'what derives from a list',
      'class Own(list): pass\ndef shift(values, by): return Own(v + by for v in values)',
      1,
    ],
    ['floats for whole numbers', 'def shift(values, by): return [float(v + by) for v in values]', 1],
    [
      'fractions',
      'from fractions import Fraction\ndef shift(values, by): return [Fraction(v + by) for v in values]',
      1,
    ],
    [
      'numbers of another library',
      'import numbers\nclass Own:\n    def __init__(self, v): self.v = v\n    def __int__(self): return self.v\n' +
        'numbers.Integral.register(Own)\ndef shift(values, by): return [Own(v + by) for v in values]',
      1,
    ],
    ['texts for numbers', 'def shift(values, by): return [str(v + by) for v in values]', 0],
    ['a deque', 'def shift(values, by): return deque(v + by for v in values)', 0],
  ])('results are compared as what they are: %s', async (_, code, value) => {
    expect(await livecodebench.grade(fenced(code), SHIFT)).toMatchObject({ value });
  });

  test.each([
    [
      '{"a": [1, null], "b": {"c": true}}',
      'collections.OrderedDict([("b", {"c": 1}), ("a", [1.0, None])])',
      1,
    ],
    ['{"a": [1, null]}', '{"a": [1, 0]}', 0],
    ['{"a": 1}', '{"a": 1, "b": 2}', 0],
    ['"text"', '"text"', 1],
    ['"1"', '1', 0],
    ['[[1, 2]]', '[(1, 2)]', 0],
    ['null', '0', 0],
    ['0.3', '0.1 + 0.2', 0],
  ])('%s is given by %s: %d', async (wanted, expression, value) => {
    const row = { input_output: JSON.stringify({ inputs: ['0'], outputs: [wanted], fn_name: 'f' }) };

    expect(await livecodebench.grade(fenced(`def f(x): return ${expression}`), row)).toMatchObject({ value });
  });
});

test('no code block is no answer', async () => {
  expect(await livecodebench.grade('print(3)', SUM)).toMatchObject({ value: 0, answer: null });
});

describe('code to train on', () => {
  const assertions = {
    test_list: ['assert f(1) == 2', 'assert f(2) == 3', 'assert f(0) == 5', 'assert f(3) == 4'],
  };

  test('is measured by the share of all its tests', async () => {
    const score = await codeTests.grade(fenced('def f(n):\n    return n + 1'), assertions);

    expect(score).toMatchObject({
      value: 0,
      metrics: { tests_passed: 0.75 },
      details: { failure: 'error', test: 2 },
    });
  });

  test('of inputs and outputs too', async () => {
    const score = await codeTests.grade(fenced('input()\nprint(6)'), SUM);

    expect(score).toMatchObject({ value: 0, metrics: { tests_passed: 0.5 } });
  });

  test('with the check of a function is right or wrong', async () => {
    const row = {
      prompt: 'def one():\n    "1"\n',
      entry_point: 'one',
      test: 'def check(candidate):\n    assert candidate() == 1\n',
    };

    expect(await codeTests.grade(fenced('def one():\n    return 1'), row)).toMatchObject({ value: 1 });
    expect(await codeTests.grade(fenced('def one():\n    return 2'), row)).toMatchObject({ value: 0 });
  });

  test('counts only in a code block, and a row without tests is refused', async () => {
    expect(await codeTests.grade('def f(n): return n + 1', assertions)).toMatchObject({
      value: 0,
      answer: null,
    });
    expect(() => codeTests.grade('', { prompt: 'x' })).toThrow('has no tests');
  });
});

test('a row that would hold a sandbox for days is refused with the number of its tests', async () => {
  const many = (count: number) => ({
    input_output: { inputs: Array<string>(count).fill('1'), outputs: Array<string>(count).fill('1') },
  });
  const code = fenced('print(input())');

  await expect(codeTests.grade(code, many(100_000))).rejects.toThrow('A row of code has 100000 tests');
  await expect(livecodebench.grade(code, many(10_001))).rejects.toThrow(
    '10001 tests, and a row may have 10000',
  );
  await expect(
    codeTests.grade(code, { ...many(6000), test_list: Array<string>(6000).fill('assert 1') }),
  ).rejects.toThrow('12000 tests');
});
