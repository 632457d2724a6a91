import { detectLanguage } from '../language/detect-language';
import { isLower, isUpper } from '../python-text';
import type { Check } from './check';
import { splitEnglishWords } from './words';

/** A text whose language cannot be told counts as followed, as in the official checks. */
function isIn(response: string, language: string): boolean {
  const detected = detectLanguage(response);
  return detected === null || detected === language;
}

export const CASE_CHECKS = {
  'language:response_language': (response, instruction) => isIn(response, instruction.text('language')),

  'change_case:english_capital': (response) => isUpper(response) && isIn(response, 'en'),

  'change_case:english_lowercase': (response) => isLower(response) && isIn(response, 'en'),

  'change_case:capital_word_frequency': (response, instruction) => {
    const capitals = splitEnglishWords(response).filter(isUpper);
    return instruction.meets(capitals.length, 'capital_frequency', 'capital_relation');
  },
} satisfies Record<string, Check>;
