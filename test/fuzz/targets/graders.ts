import { ROW_GRADERS } from '../../../src/evaluation/graders/find-row-grader';
import { gradeRow } from '../../../src/evaluation/graders/grade-row';
import { closeMathGraders } from '../../../src/evaluation/graders/math/math-graders';
import { isRecord } from '../../../src/stores/json-lines';
import { ROWS } from '../../unit/evaluation/graders/hostile-texts';
import type { FuzzTarget } from '../target';
import { jsonOf, passAll } from '../target';

/** These run programs, or ask judges. */
const ELSEWHERE = [
  'humaneval',
  'mbpp',
  'livecodebench',
  'code_tests',
  'judge_grade',
  'judge_rating',
  'arena_hard',
];
const GRADERS = ROW_GRADERS.filter(({ name }) => !ELSEWHERE.includes(name));

const MORE_ROWS: readonly (readonly [string, object])[] = [
  [
    'bfcl',
    {
      id: 'simple_0',
      function: [
        { name: 'f', parameters: { type: 'dict', properties: { a: { type: 'integer' } }, required: ['a'] } },
      ],
      ground_truth: [{ f: { a: [1, ''] } }],
    },
  ],
  ['gpqa', { answer: 'C' }],
  ['super_gpqa', { answer_letter: 'C', options: ['a', 'b', 'c'] }],
  ['hmmt', { answer: '1, 2' }],
  ['math_equivalence', { answer: '\\frac{1}{2}' }],
];

/** A row and a completion: a grader scores it, or says that the row lacks what it needs; whatever is written there. */
export const target: FuzzTarget = {
  name: 'graders',
  seeds: () =>
    [...ROWS, ...MORE_ROWS].map(([grader, row]) =>
      JSON.stringify({ grader, row, completion: 'The answer is \\boxed{1}. [f(a=1)] (B)' }),
    ),
  words: [
    '\\frac{1}{0}',
    '\\boxed{',
    '1/0',
    'answer',
    'target',
    'kwargs',
    '^{99999}',
    '\\infty',
    '[f(a=',
    '{"a":',
    '选B',
    '(a|a)*$',
  ],
  run(bytes) {
    const input = jsonOf(bytes);
    if (!isRecord(input)) return;
    const { grader, row, completion } = input as Record<string, unknown>;
    if (!isRecord(row)) return;
    const text = typeof completion === 'string' ? completion : JSON.stringify(completion ?? '');
    const chosen = GRADERS.filter(({ name }) => name === grader);
    return passAll(
      (chosen.length > 0 ? chosen : GRADERS).map((each) => () => gradeRow(each, text, { ...row })),
    );
  },
  close: closeMathGraders,
};
