import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import fc from 'fast-check';
import { readArenaVerdict } from '../../../../src/evaluation/graders/arena-hard';
import {
  readGrade,
  readPairLabel,
  readPreference,
  readRating,
  readTaggedScore,
} from '../../../../src/evaluation/judges/read-verdicts';

describe('readGrade', () => {
  test.each([
    ['It is right.\nGRADE: C', 'C'],
    ['GRADE: C\nNo, on reflection:\nGRADE: I', 'I'],
    ['grade: i', 'I'],
    ['**GRADE:** C', 'C'],
    ['GRADE: **P**', 'P'],
    ['GRADE: $C', 'C'],
    ['GRADE\u200b : \u200bC', 'C'],
    ['GRADE:\n\nC', 'C'],
    ['GRADE: Correct', 'C'],
    ['GRADE: partially correct', 'P'],
    ['GRADE: C. It is right, although', 'C'],
    ['GRADE: C, I think', 'C'],
    ['GRADE: I (in a word: wrong)', 'I'],
    ['GRADE: "C"', 'C'],
    ["GRADE: 'C'", 'C'],
    ['__GRADE__: C', 'C'],
    ['GRADE: (C)', 'C'],
    ['GRADE: [C]', 'C'],
    ['GRADE: C - it is right', 'C'],
    ['GRADE: I - it is not', 'I'],
  ])('reads %j as %s', (text, grade) => {
    expect(readGrade(text, ['C', 'P', 'I'])).toBe(grade);
  });

  test.each([
    '',
    'It is right.',
    'UPGRADE: C',
    'GRADES: C',
    'GRADE C',
    'GRADE: 5',
    'GRADE: $LETTER',
    'GRADE: X',
    'GRADE: Cannot be determined from the text.',
    'GRADE: Inconclusive',
    'GRADE: Pending further evidence',
    'GRADE: C/I',
    'GRADE: C or I',
    'GRADE: **C** or **I**',
    'GRADE: C, I',
    'GRADE: C2',
    'GRADE: C-',
    'GRADE: C vs I',
    'GRADE: C → I',
    'GRADE: C -> I',
    'GRADE: C=I',
    'GRADE: C to I',
    'GRADE: C but also I',
    'GRADE: C or possibly P',
    'GRADE: (C or I)',
    'GRADE: I am not sure',
    'GRADE: I cannot be sure',
    'GRADE: I think it is C',
    "GRADE: I'm not sure",
  ])('finds no offered grade in %j', (text) => {
    expect(readGrade(text, ['C', 'P', 'I'])).toBeNull();
  });

  test('does not take a letter that was not offered, nor an earlier one in its place', () => {
    expect(readGrade('GRADE: C\nGRADE: P', ['C', 'I'])).toBeNull();
  });
});

test.each([
  ['Rating: 5', 5],
  ['Rating: [[5]]', 5],
  ['**Rating:** 5', 5],
  ['Rating: **5**', 5],
  ['Rating: [[ 5 ]]', 5],
  ['Rating: [5]', 5],
  ['Rating: 8/10', 8],
  ['Rating: 5\n- 3 points for style', 5],
  ['Rating: 5.', 5],
  ['Rating: 5-6', null],
  ['Rating: 5 or 6', null],
  ['Rating: 5 to 6', null],
  ['Rating: 1e1', null],
  ['Rating: 5,5', null],
  ['Rating: 8½', null],
  ['Rating: [[8]].5', null],
  ['Rating: 8.5', null],
  ['Berating: 5', null],
  ['Rating: 5~6', null],
  ['Rating: 5+', null],
  ['Rating: [[5]] or [[6]]', null],
  ['Rating: [[5]]-[[6]]', null],
  ['First [[5]]. At the end: [[6]]', 6],
])('reads the rating of %j as %s', (text, rating) => {
  expect(readRating(text)).toBe(rating);
});

test.each([
  ['[[A]]', 'A'],
  ['First [[A]], finally [[B]].', 'B'],
  ['[[c]]', 'tie'],
  ['[A]', null],
  ['[[D]]', null],
])('reads the pair label of %j as %s', (text, label) => {
  expect(readPairLabel(text)).toBe(label);
});

test.each([
  ['A', 'A'],
  [' B', 'B'],
  ['Tie', 'tie'],
  ['T', 'tie'],
  ['', null],
  ['The', null],
])('reads %j of a preference model as %s', (text, label) => {
  expect(readPreference(text)).toBe(label);
});

test.each([
  ['<score>0.5</score>', 0.5],
  ['<score>\n0.7\n</score>', 0.7],
  ['<score>0.2</score><score>0.9</score>', 0.9],
  ['the answer says <-score>1</score>, so <SCORE> .25 </SCORE>', 0.25],
  ['<score>0.9</score>, no: <score>none</score>', null],
  ['<score>+1</score>', null],
  ['<score>-0</score>', null],
  ['<score>1e0</score>', null],
  ['<score>0x1</score>', null],
  ['<score>１</score>', null],
  ['<score>1,0</score>', null],
  ['<score><score>1</score></score>', 1],
  ['<score>5</score>', null],
  ['<score>-1</score>', null],
  ['<score>a</score>', null],
  ['<score></score>', null],
  ['0.5', null],
])('reads the score of %j as %s', (text, score) => {
  expect(readTaggedScore(text)).toBe(score);
});

const VECTORS = join(
  process.env['EVERSTEP_VECTORS_DIR'] ?? resolve(__dirname, '../../../../../shared/vectors'),
  'judge_score.json',
);

/** From those of tinker-cookbook: judges are asked to end with their rating, and 8.5 is not 8. */
const DIFFERENT = [
  ['[[5]] then [[9]]', 9],
  ['Rating: 8.5', null],
];

(existsSync(VECTORS) ? describe : describe.skip)('ratings of the field', () => {
  const { cases } = existsSync(VECTORS)
    ? // Written by the program whose behaviour it records.
      (JSON.parse(readFileSync(VECTORS, 'utf8')) as { cases: { input: string; expected: number | null }[] })
    : { cases: [] };

  test('are read alike but for what is named', () => {
    expect(cases.length).toBeGreaterThan(10);
    const ours = cases.map(({ input }) => readRating(input));
    const differing = cases.filter(({ expected }, index) => ours[index] !== expected);
    expect(differing.map(({ input }) => [input, readRating(input)])).toEqual(DIFFERENT);
  });
});

/** Of every reader: a verdict in harmless text is read, and none that was thought of before it or that only looks like one. */
describe.each<{
  readonly reader: string;
  readonly read: (text: string) => unknown;
  readonly verdicts: readonly (string | number)[];
  readonly write: (verdict: string | number) => string;
  readonly lookalikes: readonly string[];
}>([
  {
    reader: 'grades',
    read: (text) => readGrade(text, ['C', 'P', 'I']),
    verdicts: ['C', 'P', 'I'],
    write: (letter) => `GRADE: ${letter}`,
    lookalikes: ['A grade of C is fine.', 'UPGRADE: C', 'GRADES: I', 'Grade C'],
  },
  {
    reader: 'ratings',
    read: readRating,
    verdicts: [1, 2, 5, 10],
    write: (rating) => `Rating: [[${rating}]]`,
    lookalikes: ['[7]', 'I rate it 9/10.', '[[A]]', '[[8]'],
  },
  {
    reader: 'pair labels',
    read: readPairLabel,
    verdicts: ['A', 'B'],
    write: (label) => `[[${label}]]`,
    lookalikes: ['[A]', 'A is better.', '[[D]]', '[B]]'],
  },
  {
    reader: 'tagged scores',
    read: readTaggedScore,
    verdicts: [0, 0.25, 1],
    write: (score) => `<score>${score}</score>`,
    lookalikes: ['score: 0.5', '<score>0.5', '<scores>1</scores>', '(0.75)'],
  },
  {
    reader: 'labels of Arena-Hard',
    read: (text) => readArenaVerdict(text)?.label ?? null,
    verdicts: ['A>>B', 'A>B', 'A=B', 'B>A', 'B>>A'],
    write: (label) => `My final verdict is: [[${label}]]`,
    lookalikes: ['A>B', '(B>>A)', '[A is better]', '[[1]]'],
  },
])('of $reader', ({ read, verdicts, write, lookalikes }) => {
  const harmless = fc.array(fc.constantFrom('It is fine.', '\n\n', '**', '1. ', ...lookalikes), {
    maxLength: 6,
  });
  const text = (parts: readonly string[]) => parts.join(' ');
  const verdict = fc.constantFrom(...verdicts);

  test('one in harmless text is read', () => {
    fc.assert(
      fc.property(harmless, verdict, harmless, (before, given, after) => {
        expect(read(`${text(before)} \n${write(given)}\n ${text(after)}`)).toBe(given);
      }),
    );
  });

  test('the last one counts', () => {
    fc.assert(
      fc.property(verdict, harmless, verdict, (first, between, last) => {
        expect(read(`${write(first)}\n${text(between)}\n${write(last)}`)).toBe(last);
      }),
    );
  });

  test('what only looks like one is none', () => {
    fc.assert(
      fc.property(harmless, (parts) => {
        expect(read(text(parts))).toBeNull();
      }),
    );
  });
});
