import { findBoxes } from '../../../src/evaluation/graders/boxed';
import { choiceLetter } from '../../../src/evaluation/graders/choices/choice-letter';
import { findRowGrader } from '../../../src/evaluation/graders/find-row-grader';
import { CHECKS } from '../../../src/evaluation/graders/ifeval/checks';
import { gsm8kAnswer } from '../../../src/evaluation/graders/numbers/gsm8k-answer';
import { areEqualNumbers } from '../../../src/evaluation/graders/numbers/number-text';
import { readVectors } from '../../unit/renderers/vector-files';

/** What tinker-cookbook 9dfcc3a2cf44 answers, case by case; where we answer otherwise the test's name says why. */

const COMMON = 'eval.benchmarks._common';

describe('gsm8k', () => {
  const extractions = readVectors<string, string>('gsm8k_extraction.json', `${COMMON}.extract_gsm8k_answer`);
  const checks = readVectors<{ response: string; expected_answer: string }, boolean>(
    'gsm8k_extraction.json',
    `${COMMON}.check_gsm8k`,
  );
  const given = extractions && checks ? test : test.skip;

  const DIFFERENT: Record<string, string | null> = {
    '\\boxed{abc}': null,
    '#### abc': null,
    '\\boxed{\\frac{1}{2}}': '0.5',
    '1/2': '0.5',
    'Final: 1e3': '1000',
    '1e5': '100000',
  };

  given('the same number, but fractions and exponents are read whole and text is no answer', () => {
    for (const { input, expected } of extractions ?? []) {
      const answer = gsm8kAnswer(input);
      if (Object.hasOwn(DIFFERENT, input)) expect([input, answer]).toEqual([input, DIFFERENT[input]]);
      else if (expected === '') expect([input, answer]).toEqual([input, null]);
      else
        expect([input, answer !== null && areEqualNumbers(answer, String(Number(expected)))]).toEqual([
          input,
          true,
        ]);
    }
  });

  given('the same verdict wherever the row has a number to compare with', () => {
    const comparable = (checks ?? []).filter(({ input }) => /\d/.test(input.expected_answer));

    expect(comparable.length).toBeGreaterThan(90);
    for (const { input, expected } of comparable) {
      const score = findRowGrader('gsm8k').grade(input.response, { answer: input.expected_answer });
      expect([input, score]).toEqual([input, expect.objectContaining({ value: Number(expected) })]);
    }
  });
});

describe('multiple choice', () => {
  const cases = readVectors<{ text: string; valid_letters: string }, string>(
    'multiple_choice.json',
    `${COMMON}.extract_mcq_answer`,
  );
  const given = cases ? test : test.skip;

  const DIFFERENT: Record<string, string | null> = {
    'The correct option is D because A is wrong': 'D',
    'I am': null,
    'A cat sat': null,
    'choice: d': 'D',
    答案是B: 'B',
    _D_: 'D',
  };

  given(
    'the same letter, but "option is" and Chinese announce one too, and the words "A" and "I" are none',
    () => {
      for (const { input, expected } of cases ?? []) {
        const ours = Object.hasOwn(DIFFERENT, input.text) ? DIFFERENT[input.text] : expected || null;
        expect([input, choiceLetter(input.text, input.valid_letters.length)]).toEqual([input, ours]);
      }
    },
  );
});

describe('boxes', () => {
  const last = readVectors<string, string | object>(
    'extract_boxed.json',
    'tinker_cookbook.recipes.math_rl.math_grading.extract_boxed',
  );
  const first = readVectors<string, string | null>(
    'extract_boxed.json',
    `tinker_cookbook.${COMMON}.extract_boxed`,
  );
  const given = last && first ? test : test.skip;

  const LENIENT = [
    '\\boxed{a}}',
    'text } \\boxed{3}',
    '\\boxed{8} trailing }',
    '\\boxed {3}',
    '\\boxed 7',
    '\\boxed  abc',
    '\\fbox{3}',
  ];

  given(
    'the same content, but a stray brace elsewhere spoils no box, "\\boxed 7" is one, and \\fbox too',
    () => {
      const contents = (input: string) => findBoxes(input).map(({ content }) => content);

      for (const { input, expected } of (last ?? []).filter((each) => !LENIENT.includes(each.input))) {
        expect([input, contents(input).at(-1) ?? null]).toEqual([
          input,
          typeof expected === 'string' ? expected : null,
        ]);
      }
      for (const { input, expected } of (first ?? []).filter((each) => !LENIENT.includes(each.input))) {
        expect([input, contents(input)[0] ?? null]).toEqual([input, expected]);
      }
      expect(LENIENT.map((input) => contents(input)[0])).toEqual(['a', '3', '8', '3', '7', 'abc', '3']);
    },
  );
});

describe('ifeval', () => {
  const cases = readVectors<
    { instruction_id: string; response: string; kwargs: Record<string, unknown> },
    boolean
  >('ifeval.json', 'eval.benchmarks._ifeval_verify.verify_instruction');
  const given = cases ? test : test.skip;

  /** Ids whose check in the cookbook is another one than Google's. */
  const OTHER_RULE = new Set([
    'detectable_format:constrained_response', // always true there
    'combination:repeat_prompt', // always true there
    'combination:two_responses', // other separators there
    'change_case:english_capital', // each word's initial there, no language
    'change_case:english_lowercase', // no language there
    'change_case:capital_word_frequency', // words with a capital initial there
    'detectable_format:title', // headings count there
    'detectable_format:number_bullet_lists', // at least there, exactly at Google
    'detectable_format:multiple_sections', // Markdown headings there
    'length_constraints:number_paragraphs', // blank lines there, *** at Google
    'language:response_language', // names of languages pass there
  ]);

  /** Responses on which a rule that is otherwise the same differs. */
  const OTHER_CASES = new Set([
    'keywords:forbidden_words badge', // words at Google, substrings there
    'keywords:frequency x', // "less than" always passes there
    'length_constraints:number_words one two', // the same
    'length_constraints:nth_paragraph_first_word a\n\nb', // the number of paragraphs is not checked there
    'detectable_format:number_highlighted_sections *a\nb*', // within a line at Google
    'detectable_format:json_format text {"a":{"b":1}} text', // the whole text at Google
    'startend:end_checker "The End"', // quotation marks are taken off at Google
  ]);

  given(
    "the same verdict wherever the cookbook's rule is Google's, and blank responses follow nothing",
    async () => {
      let sameCount = 0;
      for (const { input, expected } of cases ?? []) {
        const { instruction_id: id, response, kwargs } = input;
        const isComparable =
          Object.hasOwn(CHECKS, id) && !OTHER_RULE.has(id) && !OTHER_CASES.has(`${id} ${response}`);
        const verdict = isComparable && response.trim() !== '' ? await verdictOf(id, response, kwargs) : null;
        if (verdict === null) continue;
        expect([input, verdict]).toEqual([input, expected]);
        sameCount++;
      }
      expect(sameCount).toBeGreaterThan(25);
    },
  );

  /** Null where Google's code raises: a missing argument, or a relation it does not have. */
  async function verdictOf(id: string, response: string, kwargs: Record<string, unknown>): Promise<unknown> {
    try {
      const row = { instruction_id_list: [id], kwargs: [kwargs] };
      const score = await findRowGrader('ifeval').grade(response, row);
      return (score.details?.['strict'] as boolean[])[0];
    } catch {
      return null;
    }
  }
});
