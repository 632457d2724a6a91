import { findBoxes } from '../boxed';

/** How far from its end a completion is searched for a letter that nothing announces. */
const TAIL_LENGTH = 300;
const SENTENCE_LENGTH = 80;

const PHRASE = /(?:answer|choice|option)\s{0,4}(?:is|:|：)|(?:答案|正确选项)\s{0,4}(?:是|为|:|：)|选择?/gi;

/**
 * The letter a completion chooses among the first `count` letters, or null.
 *
 * In this order: the first `\boxed{X}`; the first sentence with "answer is", "answer:" (also in Chinese) that names a
 * letter; the last capital letter that stands alone in the last 300 characters. A letter must be a word of its own, so that
 * "the answer is clearly B" is B and "definitely" is nothing; the article "A" and the pronoun "I" are not letters; small
 * letters count only where nothing but punctuation follows ("the answer is (b)").
 */
export function choiceLetter(completion: string, count: number): string | null {
  const letters = new Set(Array.from('ABCDEFGHIJKLMNOPQRSTUVWXYZ').slice(0, count));
  return inBox(completion, letters) ?? announced(completion, letters) ?? lastAlone(completion, letters);
}

function inBox(completion: string, letters: ReadonlySet<string>): string | null {
  const [first] = findBoxes(completion);
  if (first === undefined) return null;
  const bare = first.content
    .slice(0, 200)
    .replace(/\\(?:text|textbf|mathrm|mathbf)|[{}()[\]\s.$]/g, '')
    .toUpperCase();
  return letters.has(bare) ? bare : null;
}

function announced(completion: string, letters: ReadonlySet<string>): string | null {
  for (const match of completion.matchAll(PHRASE)) {
    const start = match.index + match[0].length;
    const letter = inSentence(completion.slice(start, start + SENTENCE_LENGTH), letters);
    if (letter !== null) return letter;
  }
  return null;
}

/** The letter may come at once ("is (b)", "isB") or behind a few words; one behind "not" is not it. */
function inSentence(text: string, letters: ReadonlySet<string>): string | null {
  const sentence = /^[^.!?。！？\n]*/.exec(text.replace(/^\s+/, ''))?.[0] ?? '';
  const small = /^[*_$(\\[\s"']*([a-z])[)\]*_$"']*\s*(?:$|[,;:，。])/.exec(sentence)?.[1]?.toUpperCase();
  if (small !== undefined && letters.has(small)) return small;
  for (const match of sentence.matchAll(ALONE)) {
    if (isNegated(sentence.slice(0, match.index))) continue;
    const letter = letterAt(sentence, match.index, letters);
    if (letter !== null) return letter;
  }
  return null;
}

function isNegated(before: string): boolean {
  return /\b(?:not|n't|isn't)\s*(?:option\s*)?[*("'[]*$/i.test(before.slice(-24));
}

/** A capital with no letter or digit of the Latin alphabet beside it; Chinese and Markdown around it are fine. */
const ALONE = /(?<![A-Za-z0-9])[A-Z](?![A-Za-z0-9])/g;

function lastAlone(completion: string, letters: ReadonlySet<string>): string | null {
  const tail = completion.slice(-TAIL_LENGTH);
  const found = [...tail.matchAll(ALONE)].map(({ index }) => letterAt(tail, index, letters));
  return found.findLast((letter) => letter !== null) ?? null;
}

function letterAt(text: string, index: number, letters: ReadonlySet<string>): string | null {
  const letter = text[index] ?? '';
  return letters.has(letter) && !isWord(text, index) ? letter : null;
}

const CONNECTIVE = /^\s(?:because|is|since|as|and|or|was|would|seems|but|then|for|with|in|by|due|not|if)\b/;

/** "A cat sat", "I am", "I'm": the article and the pronoun. */
function isWord(text: string, index: number): boolean {
  const rest = text.slice(index + 1, index + 20);
  if (text[index] === 'I')
    return /^(?:\s[a-z]|['’](?:m|ve|ll|d)\b)/.test(rest) && !/^\s(?:is|was|because)\b/.test(rest);
  return text[index] === 'A' && /^\s[a-z]/.test(rest) && !CONNECTIVE.test(rest);
}
