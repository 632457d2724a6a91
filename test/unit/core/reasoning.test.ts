import fc from 'fast-check';
import { withoutReasoning } from '../../../src/core/reasoning';

test.each([
  ['The answer is C.', 'The answer is C.'],
  ['<think>A? No.</think>\n\nThe answer is C.', 'The answer is C.'],
  ['A? No.</think>The answer is C.', 'The answer is C.'],
  ['<think>The answer is A', ''],
  ['It is B. <think>Or is it A?</think> Yes.', 'It is B.  Yes.'],
  ['It is B.\n<think>Or is it A', 'It is B.'],
  ['<think>a <think>b</think> c', 'c'],
  ['<think>a</think>b</think>c', 'c'],
  ['print("<think>")', 'print("<think>")'],
  ['Close it with `</think>`.', 'Close it with `</think>`.'],
  ['<think>it is `x`</think>\nThe answer is (B)', 'The answer is (B)'],
  ['<think>\n```python\nprint(5)\n```</think>\n\n\\boxed{5}', '\\boxed{5}'],
  ['<think >A</ think>B', 'B'],
  ['Write "<think>" and "</think>" around it.', 'Write "<think>" and "</think>" around it.'],
  ['  kept as it is\n', '  kept as it is\n'],
])('of %j is %j', (text, said) => {
  expect(withoutReasoning(text)).toBe(said);
});

test('what is thought is never said, whatever stands around it', () => {
  const words = fc.string().filter((text) => !/[<>]/.test(text));
  fc.assert(
    fc.property(words, words, (thought, rest) => {
      const text = `<think>${thought} 4711</think>${rest}`;
      expect(withoutReasoning(text)).toBe(rest.trim());
      expect(withoutReasoning(`<think>${thought}${rest}`)).toBe('');
    }),
  );
});
