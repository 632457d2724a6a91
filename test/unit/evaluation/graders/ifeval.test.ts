import { CHECKS } from '../../../../src/evaluation/graders/ifeval/checks';
import { ifeval } from '../../../../src/evaluation/graders/ifeval/ifeval';
import type { Score } from '../../../../src/evaluation/graders/grader';

type Arguments = Record<string, unknown>;

async function grade(response: string, ids: string[], kwargs: Arguments[]): Promise<Score> {
  return ifeval.grade(response, { instruction_id_list: ids, kwargs });
}

async function follows(id: string, response: string, kwargs: Arguments = {}): Promise<unknown> {
  return (await grade(response, [id], [kwargs])).details?.['strict'];
}

const ATLEAST2 = { relation: 'at least', num_words: 2, num_sentences: 2, frequency: 2 };
const LESS2 = { ...ATLEAST2, relation: 'less than' };

/** Decided by the official `instructions.py`. */
const CASES: [string, string, Arguments, boolean][] = [
  ['keywords:existence', 'HELLO there', { keywords: ['hello', 'There'] }, true],
  ['keywords:existence', 'hello', { keywords: ['hello', 'there'] }, false],
  ['keywords:frequency', 'banana Ana', { ...ATLEAST2, keyword: 'ana' }, true],
  ['keywords:frequency', 'banana', { ...LESS2, keyword: 'ana' }, true],
  ['keywords:frequency', 'a a', { ...LESS2, keyword: 'a' }, false],
  ['keywords:forbidden_words', 'a badge', { forbidden_words: ['bad'] }, true],
  ['keywords:forbidden_words', 'so BAD.', { forbidden_words: ['bad'] }, false],
  ['keywords:forbidden_words', 'naïve', { forbidden_words: ['na'] }, true],
  ['keywords:letter_frequency', 'Banana', { letter: 'B', let_frequency: 1, let_relation: 'at least' }, true],
  ['keywords:letter_frequency', 'wow!!', { letter: '!', let_frequency: 2, let_relation: 'less than' }, false],
  ['language:response_language', 'Das ist ein kurzer Satz über das Wetter.', { language: 'de' }, true],
  ['language:response_language', 'This is a sentence about the weather.', { language: 'de' }, false],
  ['length_constraints:number_words', 'two words', ATLEAST2, true],
  ['length_constraints:number_words', "isn't", ATLEAST2, true],
  ['length_constraints:number_words', 'two words', LESS2, false],
  ['length_constraints:number_sentences', 'One. Two.', ATLEAST2, true],
  ['length_constraints:number_sentences', 'Mr. One', ATLEAST2, false],
  ['length_constraints:number_paragraphs', 'a\n***\nb\n***', { num_paragraphs: 2 }, true],
  ['length_constraints:number_paragraphs', 'a\n\nb', { num_paragraphs: 2 }, false],
  ['length_constraints:number_paragraphs', 'a *** *** b', { num_paragraphs: 2 }, false],
  [
    'length_constraints:nth_paragraph_first_word',
    'one\n\n"Two, three',
    { num_paragraphs: 2, nth_paragraph: 2, first_word: 'two' },
    true,
  ],
  [
    'length_constraints:nth_paragraph_first_word',
    'one\n\nthree',
    { num_paragraphs: 2, nth_paragraph: 2, first_word: 'two' },
    false,
  ],
  [
    'length_constraints:nth_paragraph_first_word',
    'one\n\ntwo',
    { num_paragraphs: 3, nth_paragraph: 2, first_word: 'two' },
    false,
  ],
  ['detectable_content:number_placeholders', '[a] and [b]', { num_placeholders: 2 }, true],
  ['detectable_content:number_placeholders', '[a\n] and [b', { num_placeholders: 1 }, false],
  ['detectable_content:postscript', 'x\nP. S. y', { postscript_marker: 'P.S.' }, true],
  ['detectable_content:postscript', 'x\np.p.s y', { postscript_marker: 'P.P.S' }, true],
  ['detectable_content:postscript', 'x\nPS y', { postscript_marker: 'P.S.' }, false],
  ['detectable_format:number_bullet_lists', '* a\n - b\ntext', { num_bullets: 2 }, true],
  ['detectable_format:number_bullet_lists', '** a\n• b', { num_bullets: 1 }, false],
  ['detectable_format:number_bullet_lists', '*\n* a', { num_bullets: 1 }, true],
  ['detectable_format:constrained_response', 'My answer is maybe.', {}, true],
  ['detectable_format:constrained_response', 'My answer is perhaps.', {}, false],
  ['detectable_format:number_highlighted_sections', '*a* and *b*', { num_highlights: 2 }, true],
  ['detectable_format:number_highlighted_sections', '**a** * *', { num_highlights: 2 }, false],
  [
    'detectable_format:multiple_sections',
    'Section 1\nx\nSection2',
    { section_spliter: 'Section', num_sections: 2 },
    true,
  ],
  [
    'detectable_format:multiple_sections',
    'section 1 Section I',
    { section_spliter: 'Section', num_sections: 1 },
    false,
  ],
  ['detectable_format:json_format', '```json\n{"a": NaN}\n```', {}, true],
  ['detectable_format:json_format', 'Here: {"a": 1}', {}, false],
  ['detectable_format:title', 'x <<A title>> y', {}, true],
  ['detectable_format:title', '<<>>\n<< >>\n<<a\nb>>', {}, false],
  ['combination:two_responses', 'a\n******\nb', {}, true],
  ['combination:two_responses', 'a****** a', {}, false],
  ['combination:two_responses', 'a******  ******b', {}, false],
  ['combination:repeat_prompt', ' Say HI. hi', { prompt_to_repeat: 'say hi.' }, true],
  ['combination:repeat_prompt', 'hi', { prompt_to_repeat: 'say hi.' }, false],
  ['startend:end_checker', '"It is The End." ', { end_phrase: 'the end.' }, true],
  ['startend:end_checker', 'The end', { end_phrase: 'the end.' }, false],
  [
    'change_case:capital_word_frequency',
    "It is FINE (U.S.) isn't IT",
    { capital_frequency: 3, capital_relation: 'at least' },
    true,
  ],
  [
    'change_case:capital_word_frequency',
    'A B',
    { capital_frequency: 2, capital_relation: 'less than' },
    false,
  ],
  ['change_case:english_capital', 'THIS IS WRITTEN IN ENGLISH, AND ALL OF IT IS LOUD', {}, true],
  ['change_case:english_capital', 'This is not', {}, false],
  ['change_case:english_lowercase', 'this is written in english, and all of it is quiet', {}, true],
  ['change_case:english_lowercase', 'dieser satz ist auf deutsch und leise geschrieben', {}, false],
  ['punctuation:no_comma', 'none; here', {}, true],
  ['punctuation:no_comma', 'one, here', {}, false],
  ['startend:quotation', ' "quoted" ', {}, true],
  ['startend:quotation', '"', {}, false],
];

test.each(CASES)('%s of %j with %j: %p', async (id, response, kwargs, expected) => {
  expect(await follows(id, response, kwargs)).toEqual([expected]);
});

test('every official instruction has a case that follows it and one that does not', () => {
  const covered = (expected: boolean) =>
    new Set(CASES.filter(([, , , isFollowed]) => isFollowed === expected).map(([id]) => id));

  expect(Object.keys(CHECKS)).toHaveLength(25);
  expect(covered(true)).toEqual(new Set(Object.keys(CHECKS)));
  expect(covered(false)).toEqual(new Set(Object.keys(CHECKS)));
});

test('strict and loose are counted by prompt and by instruction', async () => {
  const score = await grade('Sure:\n"*hi*"', ['startend:quotation', 'punctuation:no_comma'], [{}, {}]);

  expect(score).toMatchObject({
    value: 0,
    metrics: { prompt_strict: 0, prompt_loose: 1, followed_strict: 1, followed_loose: 2, instructions: 2 },
    details: { strict: [false, true], loose: [true, true] },
  });
});

test.each([
  ['first line', 'Sure:\n"x"'],
  ['last line', '"x"\nBye'],
  ['first and last line', 'Sure:\n"x"\nBye'],
  ['stars', '*"x"*'],
  ['stars and both lines', 'Sure:\n*"x"*\nBye'],
])('a response that follows without its %s follows loosely', async (_, response) => {
  const { details } = await grade(response, ['startend:quotation'], [{}]);

  expect(details).toEqual({ strict: [false], loose: [true] });
});

test.each(['', ' \n '])('a blank response %j follows nothing', async (response) => {
  expect(await grade(response, ['punctuation:no_comma'], [{}])).toMatchObject({
    value: 0,
    answer: null,
    details: { strict: [false], loose: [false] },
  });
});

test('instruction level is the flat mean over instructions', () => {
  const means = {
    prompt_strict: 0.5,
    prompt_loose: 1,
    followed_strict: 1,
    followed_loose: 2,
    instructions: 2.5,
  };

  expect(ifeval.summarize?.(means)).toEqual({
    prompt_strict: 0.5,
    prompt_loose: 1,
    instruction_strict: 0.4,
    instruction_loose: 0.8,
  });
});

test('arguments that are null, as the hub pads them, do not matter', async () => {
  expect(await follows('punctuation:no_comma', 'x', { num_words: null, relation: null })).toEqual([true]);
});

test.each<[string, string[], Arguments[], RegExp]>([
  ['an unknown instruction', ['keywords:nope'], [{}], /"keywords:nope" is not one of IFEval's 25/],
  ['a name every object has', ['constructor'], [{}], /not one of IFEval's/],
  [
    'an unknown relation',
    ['length_constraints:number_words'],
    [{ relation: 'exactly', num_words: 2 }],
    /"exactly"/,
  ],
  ['a missing argument', ['keywords:existence'], [{}], /keywords:existence: .*"keywords"/],
  [
    'a count that is text',
    ['length_constraints:number_words'],
    [{ relation: 'at least', num_words: '2' }],
    /num_words/,
  ],
  ['too few kwargs', ['punctuation:no_comma'], [], /"kwargs"/],
])('%s is refused', async (_, ids, kwargs, message) => {
  await expect(grade('x', ids, kwargs)).rejects.toThrow(message);
});
