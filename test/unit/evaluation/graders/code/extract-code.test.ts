import { extractCode, findCodeBlock } from '../../../../../src/evaluation/graders/code/extract-code';

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
])('of %j the code is %j', (text, code) => {
  expect(findCodeBlock(text)).toBe(code);
});

test.each(['print(1)', '```python print(1) ```', '~~~python\nx\n~~~', ''])(
  '%j is code as a whole',
  (text) => {
    expect(findCodeBlock(text)).toBeNull();
    expect(extractCode(text)).toBe(text);
  },
);
