import fc from 'fast-check';
import {
  calledIn,
  extractCode,
  findCodeBlock,
} from '../../../../../src/evaluation/graders/code/extract-code';

test.each([
  ['```python\nprint(1)\n```', 'print(1)'],
  ['```py\nx=2\n```', 'x=2'],
  ['```python3\nx=2\n```', 'x=2'],
  ['```Python\nx\n```', 'x'],
  ['```\nA\n```\n```\nB\n```', 'B'],
  ['text\n```bash\nls\n```\n```python\nfirst\n```\n```python\nsecond\n```', 'first'],
  ['text\n```bash\nls\n```', 'ls'],
  ['```python\r\nx = 1\r\ny = 2\r\n```', 'x = 1\r\ny = 2'],
  ['```python\n\n    return 1\n\n```', '    return 1'],
  ['so:\n```python\ndef f():\n    return 1', 'def f():\n    return 1'],
  ['[BEGIN]\nx = 1\n[DONE]', 'x = 1'],
  ['x = 1\n[DONE]', 'x = 1'],
  ['~~~python\nx\n~~~', 'x'],
  ['````python\na = "```"\n```\nb\n````', 'a = "```"\n```\nb'],
  ['- Solution:\n\n  ```python\n  def f():\n      return 1\n  ```\n', 'def f():\n    return 1'],
  ['1. ```python\n   x = 1\n   ```', 'x = 1'],
  ['> ```python\n> x = 1\n> ```', 'x = 1'],
  ['```python\ndef f(s):\n    return "```" + s + "```"\n```', 'def f(s):\n    return "```" + s + "```"'],
  ["```python\n'''\n```\nexample\n```\n'''\nx = 1\n```", "'''\n```\nexample\n```\n'''\nx = 1"],
  ["```python\n'''open\n```", "'''open"],
  ['```python\nx = 1```', 'x = 1'],
  ['def f():\n    return 1\n```', 'def f():\n    return 1'],
  ['def f():\n    return 1\n```\nIt returns 1.', 'def f():\n    return 1'],
])('of %j the code is %j', (text, code) => {
  expect(findCodeBlock(text)).toBe(code);
});

test('the block that defines what is tested counts', () => {
  const text =
    'For instance:\n```python\ninc(1)\n```\nSolution:\n```python\ndef inc(x):\n    return x + 1\n```';

  expect(findCodeBlock(text, ['inc'])).toBe('def inc(x):\n    return x + 1');
  expect(findCodeBlock(text, ['other'])).toBe('inc(1)');
});

test('what tests call is what has to be defined', () => {
  expect(calledIn(['assert set(f((1, 2))) == set(g(3))', 'assert math.isclose(f(1), 2)'])).toEqual([
    'set',
    'f',
    'g',
  ]);
});

test('code in a block of any length of fence is found as it was written', () => {
  const line = fc.string({ maxLength: 20 }).filter((text) => !/[`~\n\r"']/.test(text));
  fc.assert(
    fc.property(
      fc.array(line, { minLength: 1, maxLength: 8 }),
      fc.integer({ min: 3, max: 6 }),
      (lines, length) => {
        const code = ['x = 1', ...lines, 'y = 2'].join('\n');
        const fence = '`'.repeat(length);
        expect(findCodeBlock(`Here:\n\n${fence}python\n${code}\n${fence}\n\nDone.`)).toBe(code);
      },
    ),
  );
});

test.each(['print(1)', '```python print(1) ```', ''])('%j is code as a whole', (text) => {
  expect(findCodeBlock(text)).toBeNull();
  expect(extractCode(text)).toBe(text);
});
