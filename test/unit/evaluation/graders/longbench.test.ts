import { longbench } from '../../../../src/evaluation/graders/longbench/longbench';
import { fuzzyRatio } from '../../../../src/evaluation/graders/longbench/sequence-ratio';

const CLASSES = ['Food', 'Food entity', 'Human', 'Human group'];

/** Values computed with the official `metrics.py`, `rouge` 1.0.1 and `fuzzywuzzy` 0.18.0. */
test.each([
  ['hotpotqa', 'The quick, brown fox!', ['a quick fox jumps'], 2 / 3],
  ['hotpotqa', 'nothing alike', ['other', 'nothing alike'], 1],
  ['triviaqa', '\nParis\nQuestion: London?', ['Paris'], 1],
  ['trec', 'Food entity\nQuestion', ['Food entity'], 1],
  ['trec', 'Human group or Food', ['Human group'], 1 / 2],
  ['trec', 'Human', ['Food'], 0],
  ['passage_retrieval_en', 'Paragraph 3, not 4', ['Paragraph 3'], 0.5],
  ['passage_retrieval_zh', '段落3', ['段落3'], 1],
  ['passage_count', 'I count 17', ['17'], 1],
  ['passage_count', 'many', ['17'], 0],
  ['lcc', '# note\n```\nreturn x\n', ['return x'], 1],
  ['gov_report', 'the cat sat. on the mat', ['the cat sat on the mat'], 0.9999999950000002],
  ['multifieldqa_zh', '今天天气很好。', ['今天天气很好'], 1],
])('%s scores %j', (dataset, completion, answers, value) => {
  expect(longbench.grade(completion, { dataset, answers, all_classes: CLASSES })).toMatchObject({
    value: expect.closeTo(value, 9) as number,
  });
});

test('an empty completion scores 0 without an answer', () => {
  for (const dataset of ['hotpotqa', 'gov_report', 'trec', 'lcc', 'passage_count', 'dureader']) {
    expect(longbench.grade(' ', { dataset, answers: ['17'], all_classes: CLASSES })).toMatchObject({
      value: 0,
      answer: null,
    });
  }
});

/** Each by the loop of the official `metrics.py`, which skips the class behind each one it takes out of its list. */
test.each([
  [['a', 'a', 'ab', 'a', 'ab', 'b'], 'ab', 1 / 3],
  [['', '', 'a', '', 'ab'], 'ab', 1 / 3],
  [['b', 'a', 'ab', 'c'], 'ab', 1 / 2],
  [['a', 'b'], 'ab', 0],
])('of the classes %j for %j the share is %d', (classes, answer, value) => {
  expect(longbench.grade('ab', { dataset: 'trec', answers: [answer], all_classes: classes })).toMatchObject({
    value,
  });
});

test('classes are read in time that grows with their number', () => {
  const classes = [...Array.from({ length: 1_000_000 }, () => ''), 'a'];

  expect(longbench.grade('a', { dataset: 'trec', answers: ['a'], all_classes: classes })).toMatchObject({
    value: 1 / 500_001,
  });
});

test('datasets of LongBench-E are scored as their namesakes, unknown ones refused', () => {
  expect(longbench.grade('17', { dataset: 'passage_count_e', answers: ['17'] })).toMatchObject({ value: 1 });
  expect(() => longbench.grade('17', { dataset: 'nope', answers: ['17'] })).toThrow(/Known: narrativeqa/);
});

test.each([
  ['The correct answer is (B).', 1, 'B'],
  ['**The correct answer is B**', 1, 'B'],
  ['The correct answer is (C)', 0, 'C'],
  ['B', 0, null],
  ['', 0, null],
])('version 2 reads %j', (completion, value, answer) => {
  expect(longbench.grade(completion, { choice_A: 'x', answer: 'B' })).toMatchObject({ value, answer });
});

test.each([
  ['abcd', 'bcde', 0.75],
  ['return x', 'return x + 1', 0.8],
  ['', 'x', 0],
  ['a'.repeat(10), 'a'.repeat(300), 0.06],
  // Frequent characters of a long second text begin no block: difflib's "autojunk".
  ['baaaaa', `c${'a'.repeat(299)}`, 0],
])('lines %j and %j are alike by %d', (left, right, ratio) => {
  expect(fuzzyRatio(left, right)).toBe(ratio);
});
