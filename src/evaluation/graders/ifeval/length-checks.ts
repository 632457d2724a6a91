import { SPACE, splitWords, strip, stripStart, WORD } from '../python-text';
import type { Check } from './check';
import { splitSentences } from './sentences';

const WORDS = new RegExp(`[${WORD}]+`, 'gu');
const DIVIDER = new RegExp(String.raw`[${SPACE}]?\*\*\*[${SPACE}]?`);

export const LENGTH_CHECKS = {
  'length_constraints:number_words': (response, instruction) =>
    instruction.meets(wordCount(response), 'num_words'),

  'length_constraints:number_sentences': (response, instruction) =>
    instruction.meets(splitSentences(response).length, 'num_sentences'),

  'length_constraints:number_paragraphs': (response, instruction) => {
    const paragraphs = response.split(DIVIDER).map((paragraph) => strip(paragraph));
    if (paragraphs.slice(1, -1).includes('')) return false;
    return paragraphs.filter((paragraph) => paragraph !== '').length === instruction.count('num_paragraphs');
  },

  'length_constraints:nth_paragraph_first_word': (response, instruction) => {
    const paragraphs = response.split('\n\n').map((paragraph) => strip(paragraph));
    const count = paragraphs.filter((paragraph) => paragraph !== '').length;
    const position = instruction.count('nth_paragraph');
    // The count leaves blank paragraphs out, the position does not: so it is in the official check.
    const paragraph = position <= count ? (paragraphs.at(position - 1) ?? '') : '';
    return (
      paragraph !== '' &&
      count === instruction.count('num_paragraphs') &&
      firstWord(paragraph) === instruction.text('first_word').toLowerCase()
    );
  },
} satisfies Record<string, Check>;

function wordCount(text: string): number {
  let count = 0;
  for (const match of text.matchAll(WORDS)) count += match.index >= 0 ? 1 : 0;
  return count;
}

function firstWord(paragraph: string): string {
  const [word = ''] = splitWords(paragraph.slice(0, 10_000));
  const unquoted = stripStart(stripStart(word, "'"), '"');
  return (/^[^.,?!'"]*/.exec(unquoted)?.[0] ?? '').toLowerCase();
}
