import { CHECKS } from '../../../../src/evaluation/graders/ifeval/checks';
import { findRowGrader } from '../../../../src/evaluation/graders/find-row-grader';
import type { Row } from '../../../../src/evaluation/graders/row-grader';

const LONG = 250_000;
/** Calls in Java and JavaScript that are longer are not read at all. */
const LONGEST_FOREIGN_CALL = 32_000;
/** Processor time that needs no second look. */
const SOON_SECONDS = 0.5;
const SHORTER = 8;
/** A text that is eight times as long takes eight times as long to read in one go, and 64 times as long to read on from each of its places. */
const MOST_TIMES_AS_LONG = 24;

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
  '0',
  '`',
  '<tool_call>',
  'new a<',
  '1+',
  '[1]+',
  '1**',
  '[1]*1000000,',
  '[1],',
  'a<',
  ', ',
];

/** Behind these an answer is looked for. */
const OPENINGS: Record<string, readonly string[]> = {
  ifeval: [''],
  longbench: [''],
  arithmetic: ['', '0.'],
  json_match: ['', '{"a":0.'],
  bfcl: ['', '[f(x=1)', 'f(x=', '[f(x=[', '```', 'f(x=[', 'f(x={a:1,'],
};
const BRACKETS: Record<string, string> = { '(': ')', '[': ']', '{': '}' };
const ANY_OPENING = ['', 'the answer is ', '\\boxed{', '$'];
/** A run of something at the end of a text is another matter than one before its end. */
const ENDINGS = ['', '1x'];

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

function callRow(kind: string, type: string): Row {
  const properties = { x: { type, items: { type: 'array' } } };
  return {
    id: `${kind}_0`,
    function: [{ name: 'f', parameters: { type: 'dict', properties, required: ['x'] } }],
    ground_truth: [{ f: { x: ['1', ''] } }],
  };
}

const CALLS: readonly (readonly [kind: string, type: string])[] = [
  ['simple', 'integer'],
  ...['String', 'Array', 'ArrayList', 'HashMap'].map((type) => ['java', type] as const),
  ...['String', 'array', 'dict'].map((type) => ['javascript', type] as const),
];

export const ROWS: readonly (readonly [string, Row])[] = [
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
  ['hmmt', { answer: '1, 2' }],
  ['math_equivalence', { answer: '\\frac{1}{2}' }],
  ['gpqa', { answer: 'C' }],
  ['supergpqa', { answer_letter: 'C', options: ['a', 'b', 'c'] }],
  ...CALLS.map((call): [string, Row] => ['bfcl', callRow(...call)]),
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

/** What a grader reads: a piece again and again, behind an opening and before an ending. */
export interface HostileText {
  readonly opening: string;
  readonly piece: string;
  readonly ending: string;
}

export function textsOf(name: string): HostileText[] {
  const openings = OPENINGS[name] ?? ANY_OPENING;
  return PIECES.flatMap((piece) =>
    openings.flatMap((opening) => ENDINGS.map((ending) => ({ opening, piece, ending }))),
  );
}

/** Grades a long text; where that takes some time, also a shorter one, to see what the time grows with. */
export async function expectToBeRead(
  hostile: HostileText,
  { name, row }: { readonly name: string; readonly row: Row },
): Promise<void> {
  await expectToBeReadOnce(hostile, sizeFor(name, row), async (text) => {
    const score = await findRowGrader(name).grade(text, row);
    expect(score.value).toBeGreaterThanOrEqual(0);
    expect(score.value).toBeLessThanOrEqual(1);
  });
}

function sizeFor(name: string, { id }: Row): number {
  // The checks of IFEval read each text 200 times over.
  if (name === 'ifeval') return LONG / 10;
  return typeof id === 'string' && id.startsWith('java') ? LONGEST_FOREIGN_CALL : LONG;
}

/** As `expectToBeRead`, of whatever reads texts. */
export async function expectToBeReadOnce(
  hostile: HostileText,
  size: number,
  read: (text: string) => unknown,
): Promise<void> {
  const secondsFor = async (length: number) => {
    const text = textOf(hostile, length);
    const before = process.cpuUsage();
    await read(text);
    const { user, system } = process.cpuUsage(before);
    return (user + system) / 1e6;
  };

  if ((await secondsFor(size)) < SOON_SECONDS) return;
  // What the engine does beside reading, such as compiling what reads, is done once.
  const timesAsLong: number[] = [];
  for (let time = 0; time < 3; time++)
    timesAsLong.push((await secondsFor(size)) / (await secondsFor(size / SHORTER)));
  expect({ hostile, isReadAgain: Math.min(...timesAsLong) > MOST_TIMES_AS_LONG }).toEqual({
    hostile,
    isReadAgain: false,
  });
}

function textOf({ opening, piece, ending }: HostileText, length: number): string {
  return opening + piece.repeat(Math.ceil(length / piece.length)) + ending + closingOf(opening);
}

function closingOf(opening: string): string {
  if (opening === '$') return opening;
  return opening.split('').reduceRight((closing, character) => closing + (BRACKETS[character] ?? ''), '');
}
