import { ReadingTime } from '../../../../src/sandboxes/read-within';
import { findRowGrader } from '../../../../src/evaluation/graders/find-row-grader';
import {
  hasMatch,
  matchCount,
  phraseBefore,
  phraseIn,
  wordIn,
} from '../../../../src/evaluation/graders/ifeval/phrases';
import type { Row } from '../../../../src/evaluation/graders/row-grader';

async function scoreOf(name: string, completion: string, row: Row) {
  const score = await findRowGrader(name).grade(completion, row);
  return [score.value, score.answer];
}

test.each<[string, string, Row, [number, string | null]]>([
  ['exact_match', ' Paris\n', { target: 'Paris' }, [1, 'Paris']],
  ['exact_match', 'paris', { target: 'Paris' }, [0, 'paris']],
  ['exact-match', 'paris', { target: 'Paris', ignore_case: true }, [1, 'paris']],
  ['exact_match', 'b', { answers: ['a', 'b'] }, [1, 'b']],
  ['exact_match', '', { target: '' }, [0, null]],
  ['contains', 'It is Paris.', { target: 'Paris' }, [1, 'Paris']],
  ['contains', 'It is paris.', { target: 'Paris' }, [0, null]],
  ['contains', 'a and b', { targets: ['a', 'c'] }, [1, 'a']],
  ['contains', 'a and b', { targets: ['a', 'c'], all: true }, [0, 'a']],
  ['contains', 'anything', { target: '' }, [0, null]],
  ['regex', 'x = 5', { pattern: '= (\\d)' }, [1, '5']],
  ['regex', 'x = 5', { pattern: '= (\\d)', target: 6 }, [0, '5']],
  ['regex', 'X', { pattern: 'x', flags: 'i' }, [1, 'X']],
  ['regex', 'y', { pattern: 'x' }, [0, null]],
  ['json_match', '{"a": 1, "b": [1, 2]}', { target: { b: [1, 2], a: 1 } }, [1, '{"a": 1, "b": [1, 2]}']],
  ['json_match', 'Sure:\n```json\n{"a": "}"}\n```', { target: '{"a": "}"}' }, [1, '{"a": "}"}']],
  ['json_match', 'It is {"a": {"b": "]"}} here', { target: { a: { b: ']' } } }, [1, '{"a": {"b": "]"}}']],
  ['json_match', 'I say {this}: [1]', { target: [1] }, [1, '[1]']],
  ['json_match', '[2, 1]', { target: [1, 2] }, [0, '[2, 1]']],
  ['json_match', 'none', { target: 'x' }, [0, null]],
  ['json_match', '{"a": 1, "a": 2}', { target: { a: 2 } }, [0, '{"a": 1, "a": 2}']],
  [
    'json_match',
    '[{"a": 1, "b": {"a": 1}}]',
    { target: [{ a: 1, b: { a: 1 } }] },
    [1, '[{"a": 1, "b": {"a": 1}}]'],
  ],
  [
    'json_match',
    '{"a": 12345678901234567890, "b": "\\":"}',
    { target: '{"a": 12345678901234567890, "b": "\\":"}' },
    [1, '{"a": 12345678901234567890, "b": "\\":"}'],
  ],
  ['arithmetic', 'The sum is $70{,}000$.', { target: '70000' }, [1, '70000']],
  ['arithmetic', 'The sum is $70{,}000$.', { target: '0' }, [0, '70000']],
])('%s of %j', async (name, completion, row, expected) => {
  expect(await scoreOf(name, completion, row)).toEqual(expected);
});

test('rows that lack what a grader needs are refused', async () => {
  await expect(scoreOf('exact_match', 'x', {})).rejects.toThrow(/no a list of texts|list of texts/);
  await expect(scoreOf('regex', 'x', { pattern: '(' })).rejects.toThrow(/no regular expression/);
  await expect(scoreOf('regex', 'x', { pattern: 'x', flags: 'q' })).rejects.toThrow(
    'example: "flags" is "q". Give some of i, s, m and u, each once.',
  );
  await expect(scoreOf('json_match', '1', {})).rejects.toThrow(/no JSON under/);
  expect(() => findRowGrader('nope')).toThrow(/Unknown grader "nope". Known: gsm8k/);
});

const STUCK = `${'a'.repeat(200)}!`;

test('a pattern that backtracks without end is an error and blocks nobody, and after it others are tried as before', async () => {
  let rounds = 0;
  const others = setInterval(() => {
    rounds += 1;
  }, 1);

  const endless = scoreOf('regex', STUCK, { pattern: '^(a+)+$' });
  const next = scoreOf('regex', 'x = 5', { pattern: '= (\\d)' });

  await expect(endless).rejects.toMatchObject({
    code: 'timed-out',
    category: 'user',
    message: expect.stringMatching(
      /regular expression .* did not end within (2 s of processor time|24 s on this machine)/,
    ) as string,
  });
  await expect(next).resolves.toEqual([1, '5']);
  clearInterval(others);
  expect(rounds).toBeGreaterThan(5);
});

test.each([
  ['a keyword', hasMatch(STUCK, phraseIn('^(a|a)$'), new ReadingTime()), false],
  ['a forbidden word', hasMatch(STUCK, wordIn('(b|a*)c'), new ReadingTime()), false],
  ['what is counted', matchCount(STUCK, phraseIn('a+'), new ReadingTime()), 1],
  ['what stands before something', hasMatch(STUCK, phraseBefore('a?', '!'), new ReadingTime()), true],
])('%s that is a pattern is tried by ifeval in the thread that can be ended', async (_, found, expected) => {
  expect(found).toBeInstanceOf(Promise);
  expect(await found).toBe(expected);
});

test('look-around and back-references are allowed', async () => {
  await expect(scoreOf('regex', 'abab!', { pattern: '(?<=^)(ab)\\1(?=!)' })).resolves.toEqual([1, 'ab']);
});

test.each([
  ['{"id": 9007199254740993}', '{"id": 9007199254740992}', 0],
  ['{"id": 9007199254740993}', '{"id": 9007199254740993}', 1],
  ['[12345678901234567890]', '[12345678901234567891]', 0],
  ['{"a": "9007199254740993", "b": 1}', '{"a": "9007199254740992", "b": 1}', 0],
  ['[-9007199254740993]', '[-9007199254740993]', 1],
  ['[1e3, 1000.0]', '[1000, 1000]', 1],
  ['{"a": 0.10000000000000000001}', '{"a": 0.1}', 0],
  ['1.00000000000000000001', '1', 0],
  ['0', '1e-400', 0],
  ['[1e400, 0.30]', '[1.0e400, 0.3]', 1],
])('json_match compares %s with %s by every digit', async (completion, target, value) => {
  const [score] = await scoreOf('json_match', completion, { target });

  expect(score).toBe(value);
});
