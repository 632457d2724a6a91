import { asSentence } from '../../../src/core/sentences';

test.each([
  ['boom in step', 'boom in step.'],
  ['Use another renderer, such as qwen3.', 'Use another renderer, such as qwen3.'],
  ['What now?', 'What now?'],
  ['It said "no."', 'It said "no."'],
  ['cut off…\n', 'cut off…'],
])('%j ends with one stop', (text, sentence) => {
  expect(asSentence(text)).toBe(sentence);
});
