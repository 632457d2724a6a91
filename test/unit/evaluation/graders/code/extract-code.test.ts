import fc from 'fast-check';
import {
  calledIn,
  extractCode,
  findCodeBlock,
  withoutIndentation,
} from '../../../../../src/evaluation/graders/code/extract-code';
import { fencedBlocks } from '../../../../../src/evaluation/graders/code/fenced-blocks';
import { expectToBeReadOnce } from '../hostile-texts';

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
  ['x = 1\n[DONE]\n[BEGIN]\nx = 2\n[DONE]', 'x = 1'],
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

test.each([
  [' def f(x):\n  return x', 'def f(x):\n return x'],
  ['  import a\n\n  x = 1', 'import a\n\nx = 1'],
  [' import a\ndef f():\n    pass', 'import a\ndef f():\n    pass'],
  ['def f():\n    pass', 'def f():\n    pass'],
])('%j without its indentation', (code, expected) => {
  expect(withoutIndentation(code)).toBe(expected);
});

describe('of code in any wrapping', () => {
  const value = fc.integer({ min: -999, max: 999 });
  const right = (number: number) => `def solve():\n    return ${number}`;
  const fenced = (code: string, info = 'python') => `\`\`\`${info}\n${code}\n\`\`\``;
  const indented = (text: string) => text.replace(/^/gm, '   ');
  const wrappings: readonly ((code: string) => string)[] = [
    (code) => fenced(code),
    (code) => `Run it:\n${fenced('python solve.py', 'bash')}\n${fenced(code)}`,
    (code) => `1. The function:\n\n${indented(fenced(code))}\n`,
    (code) => `~~~~py\n${code}\n~~~~`,
    (code) => `${code}\n\`\`\`\nIt is short.`,
    (code) => `[BEGIN]\n${code}\n[DONE]`,
    (code) => `${fenced(code)}\nFor example:\n${fenced('print(solve())')}`,
    (code) => `For example:\n${fenced('print(solve())')}\n${fenced(code)}`,
  ];

  test('it is found', () => {
    fc.assert(
      fc.property(value, fc.constantFrom(...wrappings), (number, wrap) => {
        expect(extractCode(wrap(right(number)), ['solve'])).toBe(right(number));
      }),
    );
  });

  test('what does not define the function, or stands outside of the block, is not', () => {
    fc.assert(
      fc.property(value, fc.constantFrom(...wrappings.slice(0, 3)), (number, wrap) => {
        const text = `At first ${right(number + 1)}\n\nwas tried.\n\n${wrap(right(number))}`;
        expect(extractCode(text, ['solve'])).toBe(right(number));
      }),
    );
  });
});

test.each(['~', '```\na\n```\n', '```py\n"""\n```\n"""\n', '```py\nx```\n', '`', 'a', '> ```\n', '~~~a '])(
  'blocks are found in a long text of %j in one go',
  async (piece) => {
    for (const opening of ['', '```', '~~~'])
      for (const ending of ['', '`', '\n```'])
        await expectToBeReadOnce({ opening, piece, ending }, 250_000, fencedBlocks);
  },
);

test('code that is indented by forty thousand blanks is brought to the left', () => {
  const indent = ' '.repeat(40_000);
  expect(withoutIndentation(`${indent}def f():\n${indent}  return 1\n\n${indent}x`)).toBe(
    'def f():\n  return 1\n\nx',
  );
});

test('fences of thousands of kinds are each closed by the next line that can', () => {
  const kinds = Array.from({ length: 800 }, (_, index) => `${' '.repeat(index)}\`\`\`p\n\`\`\`\n`).join('');
  expect(fencedBlocks(kinds + '```\n'.repeat(150_000))).toHaveLength(75_800);
});
