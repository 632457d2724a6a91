import { findRowGrader } from '../../../../src/evaluation/graders/find-row-grader';
import { gradeRow } from '../../../../src/evaluation/graders/grade-row';
import { readWithin } from '../../../../src/sandboxes/read-within';
import type { RowGrader } from '../../../../src/evaluation/graders/row-grader';

const SHORT_MS = 500;

test.each([
  [
    'a loop',
    () => {
      for (;;);
    },
  ],
  ['an expression', () => /^(a+)+$/.test(`${'a'.repeat(60)}b`)],
  [
    'what catches everything',
    () => {
      for (;;)
        try {
          for (;;);
        } catch {
          // And on.
        }
    },
  ],
])('%s that does not end is ended', (_, read) => {
  expect(readWithin(read, SHORT_MS)).toBeNull();
});

test('what ends is returned, and what is thrown is thrown', () => {
  expect(readWithin(() => 3)).toEqual({ result: 3 });
  expect(readWithin(() => undefined)).toEqual({ result: undefined });
  expect(() => readWithin(() => BigInt('x'))).toThrow(SyntaxError);
});

test('one reading may be within another', () => {
  const inner = () => readWithin(() => 1)?.result;
  expect(readWithin(() => [inner(), inner()])).toEqual({ result: [1, 1] });
});

const GRADER: RowGrader = {
  name: 'echo',
  version: 'echo@1',
  description: '',
  grade(completion) {
    while (completion === 'endless');
    return { value: Number(completion === 'right'), answer: completion || null, metrics: { strict: 0 } };
  },
};

test('an answer that nobody comes to the end of counts as none', async () => {
  expect(await gradeRow(GRADER, 'right', {})).toMatchObject({ value: 1, answer: 'right' });
  expect(await gradeRow(GRADER, 'endless', {})).toEqual({
    value: 0,
    answer: null,
    metrics: { strict: 0 },
    details: { limit: 'time' },
  });
  expect(await gradeRow(GRADER, 'right', {})).toMatchObject({ value: 1 });
});

test('checks that each take seconds take no longer together', async () => {
  const row = {
    instruction_id_list: ['change_case:capital_word_frequency', 'change_case:capital_word_frequency'],
    kwargs: [1, 2].map(() => ({ capital_frequency: 20, capital_relation: 'at least' })),
  };
  const score = await gradeRow(findRowGrader('ifeval'), `first*\n${'.\n'.repeat(1_000_000)}last*`, row);
  expect(score).toMatchObject({
    value: 0,
    answer: null,
    metrics: { instructions: 2 },
    details: { limit: 'time' },
  });
});

test('a row whose fields alone take too long to read is refused', async () => {
  const names = Array.from({ length: 200_000 }, () => '');
  const row = { dataset: 'trec', answers: names.map(() => 'a'), all_classes: [...names, 'a'] };

  await expect(gradeRow(findRowGrader('longbench'), 'a', row)).rejects.toMatchObject({
    code: 'timed-out',
    message: expect.stringContaining('the fields of its row alone take longer') as string,
  });
});

const KEYWORDS = 'keywords:existence';

test('patterns that each end in their time take no longer together', async () => {
  const slow = Array.from({ length: 100_000 }, (_, index) => `(?:(?:a+)+b|a|${index})`);
  const row = { instruction_id_list: [KEYWORDS], kwargs: [{ keywords: slow }] };

  const score = await gradeRow(findRowGrader('ifeval'), 'a'.repeat(20), row);

  expect(score).toMatchObject({ value: 0, answer: null, details: { limit: 'time' } });
});

test('keywords without signs take no longer together either', async () => {
  const keywords = Array.from({ length: 2_000_000 }, () => 'x');
  const row = { instruction_id_list: [KEYWORDS], kwargs: [{ keywords }] };

  const score = await gradeRow(findRowGrader('ifeval'), 'x', row);

  expect(score).toMatchObject({ value: 0, answer: null, details: { limit: 'time' } });
});

test.each([
  ['regex', { pattern: '[^\\p{L}\\p{N}\\p{Lu}]'.repeat(30_000), flags: 'iu' }],
  [
    'ifeval',
    {
      instruction_id_list: [KEYWORDS],
      kwargs: [{ keywords: ['[^\\p{L}\\p{N}\\p{Lu}]'.repeat(30_000)] }],
    },
  ],
])('a pattern of %s that is too long is not even read', async (name, row) => {
  await expect(gradeRow(findRowGrader(name), 'x', row)).rejects.toMatchObject({
    code: 'bad-dataset',
    message: expect.stringMatching(/has 570000 characters, and 10000 are as many as are tried/) as string,
  });
});

const nested = (depth: number) => '['.repeat(depth) + ']'.repeat(depth);

test.each([
  ['json_match', nested(6000), { target: nested(6000) }],
  ['bfcl', '[f(x=1)]', { id: 'simple_0', function: [], ground_truth: `[{"f": {"x": ${nested(50_000)}}}]` }],
])('a row of %s that nests too deep is refused', async (name, completion, row) => {
  await expect(gradeRow(findRowGrader(name), completion, row)).rejects.toMatchObject({
    code: 'bad-dataset',
    message: expect.stringMatching(/lists and objects lie more than 500 deep/) as string,
  });
});

test('an answer that nests deep is wrong', async () => {
  expect(await gradeRow(findRowGrader('json_match'), nested(100_000), { target: [[]] })).toMatchObject({
    value: 0,
  });
});

test('no text in an answer changes how the target of its line is read', async () => {
  const grader = findRowGrader('json_match');
  const line = `{"target":{"a":12345678901234567890},"response":"{\\"a\\": 12345678901234567891} \\u0000number:"}`;
  const { response, ...row } = grader.parseLine?.(line) as { response: string };
  expect(await gradeRow(grader, response, row)).toMatchObject({ value: 0 });
  expect(await gradeRow(grader, response.replace('891', '890'), row)).toMatchObject({ value: 1 });
});
