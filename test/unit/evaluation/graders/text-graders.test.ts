import { findRowGrader } from '../../../../src/evaluation/graders/find-row-grader';
import type { Row } from '../../../../src/evaluation/graders/row-grader';

function scoreOf(name: string, completion: string, row: Row) {
  const score = findRowGrader(name).grade(completion, row);
  if (score instanceof Promise) throw new Error('expected a score at once');
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
])('%s of %j', (name, completion, row, expected) => {
  expect(scoreOf(name, completion, row)).toEqual(expected);
});

test('rows that lack what a grader needs are refused', () => {
  expect(() => scoreOf('exact_match', 'x', {})).toThrow(/no a list of texts|list of texts/);
  expect(() => scoreOf('regex', 'x', { pattern: '(' })).toThrow(/no regular expression/);
  expect(() => scoreOf('json_match', '1', {})).toThrow(/no JSON under/);
  expect(() => findRowGrader('nope')).toThrow(/Unknown grader "nope". Known: gsm8k/);
});
