import { isLabel } from './labels';

const FONT = String.raw`\\(?:text|textbf|textrm|mathrm|mathbf|mbox)\s{0,3}\{\s{0,3}`;
const CHOICE = new RegExp(String.raw`^\s{0,9}(?:${FONT}\(?([A-E])\)?\s{0,3}\}|\(([A-E])\))\s{0,9}$`);
const CHOICE_AND_VALUE = new RegExp(
  String.raw`^\s{0,9}(?:${FONT}\(([A-E])\)[.:]?([^{}]{0,60})\}|\(([A-E])\)[.:]?)(.{0,300})$`,
);
const SPACE = /^(?:\s|~|\\[ ,;:!]|\\q?quad(?![a-zA-Z])|[$:])+/;
/** Of a value: no words but those of a unit. */
const TEXT = /\\(?:text[a-z]{0,2}|mathrm|mbox)\s{0,3}\{([^{}]{0,60})\}/g;
const WORD = /(?<![\\a-zA-Z])[a-zA-Z]{2,}|\([A-E]\)|\\(?:neg?|lnot|not|lor|vee)(?![a-zA-Z])|[,;]/;

/** The letter alone of "(B) 12" where the reference is a choice; any other answer is as it was. */
export function withChoiceAlone(answer: string, reference: string): string {
  if (!CHOICE.test(reference)) return answer;
  const [, inText, valueInText = '', bare, behind = ''] = CHOICE_AND_VALUE.exec(answer) ?? [];
  const letter = inText ?? bare;
  return letter !== undefined && isValue(`${valueInText} ${behind}`) ? `\\text{(${letter})}` : answer;
}

function isValue(text: string): boolean {
  const value = text.replace(SPACE, '');
  const units = [...value.matchAll(TEXT)].map(([, words = '']) => words);
  return /^[-+\d\\($]/.test(value) && units.every(isLabel) && !WORD.test(value.replace(TEXT, ''));
}
