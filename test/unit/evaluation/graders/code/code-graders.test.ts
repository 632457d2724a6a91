import { findBenchmark } from '../../../../../src/evaluation/benchmarks';
import { humaneval } from '../../../../../src/evaluation/graders/code/humaneval';
import { mbpp } from '../../../../../src/evaluation/graders/code/mbpp';
import { processSandboxes } from '../../../../../src/sandboxes/process-sandboxes';

afterAll(() => processSandboxes.close());

const TASK = {
  prompt:
    'from typing import List\n\n\ndef half(n):\n    return n / 2\n\n\ndef halves(numbers: List[int]) -> List[float]:\n    """ Half of each. """\n',
  entry_point: 'halves',
  test: 'def check(candidate):\n    assert candidate([2, 3]) == [1, 1.5]\n    assert candidate([]) == []\n',
};
const BODY = 'return [half(number) for number in numbers]';

describe('humaneval', () => {
  test.each([
    ['a raw continuation', `    ${BODY}\n`],
    ['a raw continuation before a stray fence', `    ${BODY}\n\`\`\`\nThis works because …`],
    [
      'a block with the whole function, without the imports of the prompt',
      block(`def halves(numbers: List[int]):\n    ${BODY}`),
    ],
    ['a block with the body alone, indented', block(`    ${BODY}`)],
    ['a block with the body alone, not indented', block(BODY)],
    ['a body whose first line lost its indentation, as behind a thought', `x = 1\n    ${BODY}\n`],
    ['such a body that begins a block', `if True:\n        ${BODY}\n    return None`],
    ['a raw body, not indented', `if True:\n    ${BODY}\nreturn None`],
    ['a bare function', `def halves(numbers):\n    ${BODY}`],
    [
      'a block whose demonstration is not for tests',
      block(`def halves(numbers):\n    ${BODY}\n\nif __name__ == "__main__":\n    print(halves(input()))`),
    ],
    ['a function that prints a lot', block(`def halves(numbers):\n    print("x" * 500000)\n    ${BODY}`)],
  ])('%s passes', async (_, reply) => {
    expect(await humaneval.grade(reply, TASK)).toMatchObject({ value: 1, explanation: 'passed' });
  });

  test('an object that equals everything is what the official script takes, and scores 0', async () => {
    const reply = block(
      'class Same:\n    def __eq__(self, other):\n        return True\n\ndef halves(numbers):\n    return [Same(), Same()]',
    );
    const task = { ...TASK, test: 'def check(candidate):\n    assert candidate([2, 3]) == [1, 1.5]\n' };

    expect(await humaneval.grade(reply, task)).toMatchObject({
      value: 0,
      explanation: expect.stringContaining('says itself what it is equal to') as string,
      details: { official: 1 },
    });
  });

  test('an object of its own that compares as all do is a result', async () => {
    const reply = block(
      'class Pair(tuple):\n    pass\n\ndef halves(numbers):\n    return Pair(n / 2 for n in numbers)',
    );
    const task = { ...TASK, test: 'def check(candidate):\n    assert candidate([2, 3]) == (1, 1.5)\n' };

    expect(await humaneval.grade(reply, task)).toMatchObject({ value: 1 });
  });

  test('a program that sleeps is counted by the clock on the wall', async () => {
    const reply = block(`import time\ntime.sleep(11)\ndef halves(numbers):\n    ${BODY}`);

    expect(await humaneval.grade(reply, TASK)).toMatchObject({ value: 0, details: { limit: 'time' } });
  });

  test('the file with the tests is not there to be read', async () => {
    const reply = block('def halves(numbers):\n    raise ValueError(open("program.py").read())');

    expect(await humaneval.grade(reply, TASK)).toMatchObject({
      value: 0,
      explanation: expect.stringContaining('FileNotFoundError') as string,
    });
  });

  test.each([
    ['a wrong function', block('def halves(numbers):\n    return numbers'), 'AssertionError'],
    ['prose', 'I am not sure.', 'SyntaxError'],
    [
      'code that ends the program at once',
      block('import sys\nsys.exit(0)\ndef halves(numbers):\n    pass'),
      'ended before its tests were done',
    ],
    [
      'code that ends the process at once',
      block('import os\nos._exit(0)\ndef halves(numbers):\n    pass'),
      'ended before its tests were done',
    ],
    ['code that never ends', block(`def halves(numbers):\n    while True: pass`), 'exceeded its limit: cpu'],
  ])('%s scores 0 with the reason', async (_, reply, reason) => {
    const score = await humaneval.grade(reply, TASK);

    expect(score.value).toBe(0);
    expect(score.explanation).toContain(reason);
  });

  test('names the limit that a solution exceeded', async () => {
    const hungry = block('def halves(numbers):\n    return [bytearray(10 ** 10)]');

    expect(await humaneval.grade(hungry, TASK)).toMatchObject({ value: 0, details: { limit: 'memory' } });
  });

  test('an empty reply is no answer, and is not run', async () => {
    expect(await humaneval.grade('', TASK)).toMatchObject({ value: 0, answer: null });
  });

  test('a row without tests is refused', () => {
    expect(() => humaneval.grade('x', { prompt: 'def f(): ', entry_point: 'f' })).toThrow('"test"');
  });
});

describe('mbpp', () => {
  const row = {
    test_list: ['assert add(1, 2) == 3', 'assert add(math.inf, 1) == math.inf'],
    test_imports: ['import math'],
  };

  test.each([
    ['right code', block('def add(a, b):\r\n    return a + b'), 1],
    ['wrong code', block('def add(a, b):\n    return a - b'), 0],
    ['code that meets one assertion only', block('def add(a, b):\n    return 3'), 0],
    ['nothing', '', 0],
  ])('%s', async (_, reply, value) => {
    expect((await mbpp.grade(reply, row)).value).toBe(value);
  });

  test('setup may use what the code defines', async () => {
    const full = { test_setup_code: 'one = Node(1)', test_list: ['assert one.value == 1'] };

    const score = await mbpp.grade(
      block('class Node:\n    def __init__(self, value):\n        self.value = value'),
      full,
    );

    expect(score.value).toBe(1);
  });
});

test('the benchmarks ask for code, run it on workers for that, and keep to the test split', () => {
  const task = {
    task_id: 11,
    prompt: 'Add two numbers.',
    test_list: ['assert add(1, 2) == 3'],
    test_imports: [],
  };

  for (const name of ['humaneval', 'mbpp', 'mbpp_full']) expect(findBenchmark(name).needsSandbox).toBe(true);
  const example = findBenchmark('mbpp').toExample(task, 0);
  expect(example?.id).toBe('mbpp/11');
  expect(JSON.stringify(example?.messages)).toContain('assert add(1, 2) == 3');
  expect(findBenchmark('mbpp').toExample({ ...task, task_id: 10 }, 0)).toBeNull();
  expect(findBenchmark('mbpp_full').toExample({ ...task, task_id: 511, text: 'x' }, 0)).toBeNull();
  expect(findBenchmark('humaneval').toExample({ ...TASK, task_id: 'HumanEval/0' }, 0)).toMatchObject({
    id: 'HumanEval/0',
    row: TASK,
  });
});

function block(code: string): string {
  return `Here it is:\n\`\`\`python\n${code}\n\`\`\`\nDone.`;
}
