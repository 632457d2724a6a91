import { CHECKS } from '../../../../src/evaluation/graders/ifeval/checks';
import { findRowGrader } from '../../../../src/evaluation/graders/find-row-grader';
import { closeMathGraders } from '../../../../src/evaluation/graders/math/math-graders';
import type { Row } from '../../../../src/evaluation/graders/row-grader';

/** What takes quadratic time or worse somewhere takes minutes on such a text; the test's time limit finds it. */
const LONG = 250_000;

const PIECES = [
  ' ',
  '\n',
  '.\n',
  ' .',
  '*',
  '* ',
  '[',
  '<<',
  '{',
  '\\boxed{',
  '\\frac{1}{',
  '#### ',
  '1',
  '1,',
  '1.',
  '-',
  'answer is ',
  'Answer:\n',
  'A: ',
  'A',
  'a@',
  '"',
  "' ",
  '```',
  '选',
  'p. p. ',
  '.)',
  '漢',
  '((((',
  '\\boxed{1}',
  '\\[',
  '\\(1\\)',
  '$ ',
  '$1$',
  '~',
  '\\\\',
  '\t',
  '\r\n',
  '1,000',
  '**1**',
];

/** Behind these an answer is looked for. */
const OPENINGS: Record<string, readonly string[]> = { ifeval: [''], longbench: [''] };
const CLOSING: Record<string, string> = { '\\boxed{': '}', $: '$' };
const ANY_OPENING = ['', 'the answer is ', '\\boxed{', '$'];

const ALL_ARGUMENTS = {
  relation: 'at least',
  let_relation: 'at least',
  capital_relation: 'at least',
  keyword: 'needle',
  keywords: ['needle'],
  forbidden_words: ['needle'],
  letter: 'n',
  language: 'en',
  end_phrase: 'the end',
  first_word: 'needle',
  section_spliter: 'Section',
  postscript_marker: 'P.S.',
  prompt_to_repeat: 'needle',
  ...Object.fromEntries(
    [
      ...['frequency', 'let_frequency', 'capital_frequency', 'num_words', 'num_sentences', 'num_paragraphs'],
      ...['nth_paragraph', 'num_placeholders', 'num_bullets', 'num_highlights', 'num_sections'],
    ].map((name) => [name, 1]),
  ),
};

const LONGBENCH_DATASETS = [
  'hotpotqa',
  'gov_report',
  'trec',
  'passage_count',
  'lcc',
  'multifieldqa_zh',
  'dureader',
];

const ROWS: [string, Row][] = [
  ['gsm8k', { answer: '#### 18' }],
  ['arithmetic', { target: '18' }],
  ['math500', { answer: '\\frac{1}{2}' }],
  ['aime', { answer: '12' }],
  ['mmlu_pro', { answer: 'B' }],
  ['ceval', { answer: 'B' }],
  ['exact_match', { target: 'x' }],
  ['contains', { target: 'x' }],
  ['regex', { pattern: '(\\d+)$' }],
  ['json_match', { target: {} }],
  ['longbench', { choice_A: 'x', answer: 'B' }],
  ...LONGBENCH_DATASETS.map((dataset): [string, Row] => [
    'longbench',
    { dataset, answers: ['1 Some words. Of a reference', 'x'.repeat(300)], all_classes: ['a', 'b'] },
  ]),
  [
    'ifeval',
    { instruction_id_list: Object.keys(CHECKS), kwargs: Object.keys(CHECKS).map(() => ALL_ARGUMENTS) },
  ],
];

afterAll(closeMathGraders);

test.each(ROWS)(
  '%s reads a long text of anything: %j',
  async (name, row) => {
    // The checks of IFEval read each text 200 times over.
    const size = name === 'ifeval' ? LONG / 10 : LONG;
    const grader = findRowGrader(name);

    for (const opening of OPENINGS[name] ?? ANY_OPENING) {
      for (const piece of PIECES) {
        const text = opening + piece.repeat(Math.ceil(size / piece.length)) + (CLOSING[opening] ?? '');
        const score = await grader.grade(text, row);
        expect(score.value).toBeGreaterThanOrEqual(0);
        expect(score.value).toBeLessThanOrEqual(1);
      }
    }
  },
  300_000,
);
