import type { ReadingTime } from '../../../sandboxes/read-within';
import { strip } from '../python-text';
import type { Check } from './check';
import { hasMatch, matchCount, phraseIn, wordIn } from './phrases';

export const WORDING_CHECKS = {
  'keywords:existence': async (response, instruction, time) => {
    for (const keyword of instruction.texts('keywords')) {
      if (!(await hasMatch(response, phraseIn(keyword), time))) return false;
    }
    return true;
  },

  'keywords:frequency': async (response, instruction, time) => {
    const keyword = strip(instruction.text('keyword'));
    return instruction.meets(await matchCount(response, phraseIn(keyword), time), 'frequency');
  },

  'keywords:forbidden_words': async (response, instruction, time) => {
    for (const word of instruction.texts('forbidden_words')) {
      if (await hasMatch(response, wordIn(word), time)) return false;
    }
    return true;
  },

  'keywords:letter_frequency': (response, instruction) => {
    const letter = strip(instruction.text('letter')).toLowerCase();
    const count = letter === '' ? 0 : response.toLowerCase().split(letter).length - 1;
    return instruction.meets(count, 'let_frequency', 'let_relation');
  },

  'detectable_content:postscript': (response, instruction, time) =>
    hasPostscript(response.toLowerCase(), strip(instruction.text('postscript_marker')), time),

  'detectable_content:number_placeholders': (response, instruction) =>
    countPlaceholders(response) >= instruction.count('num_placeholders'),

  'punctuation:no_comma': (response) => !response.includes(','),

  'startend:end_checker': (response, instruction) => {
    const end = strip(instruction.text('end_phrase')).toLowerCase();
    return strip(strip(response), '"').toLowerCase().endsWith(end);
  },

  'startend:quotation': (response) => {
    const text = strip(response);
    return text.length > 1 && text.startsWith('"') && text.endsWith('"');
  },

  'combination:repeat_prompt': (response, instruction) =>
    strip(response)
      .toLowerCase()
      .startsWith(strip(instruction.text('prompt_to_repeat')).toLowerCase()),

  'combination:two_responses': (response) => {
    const parts = response.split('******');
    const isBlankInside = parts.slice(1, -1).some((part) => strip(part) === '');
    const [first, second, ...rest] = parts.map((part) => strip(part)).filter((part) => part !== '');
    return !isBlankInside && rest.length === 0 && second !== undefined && first !== second;
  },
} satisfies Record<string, Check>;

function hasPostscript(text: string, marker: string, time: ReadingTime): boolean | Promise<boolean> {
  if (marker === 'P.P.S') return /p\.\s?p\.\s?s/.test(text);
  if (marker === 'P.S.') return /p\.\s?s\./.test(text);
  return hasMatch(text, phraseIn(marker.toLowerCase(), 'u'), time);
}

/** `[…]` on one line. */
function countPlaceholders(response: string): number {
  let count = 0;
  for (const line of response.split('\n')) {
    for (let open = line.indexOf('['); open >= 0;) {
      const close = line.indexOf(']', open + 1);
      if (close < 0) break;
      count++;
      open = line.indexOf('[', close + 1);
    }
  }
  return count;
}
