/**
 * English sentences as NLTK's Punkt counts them (Kiss and Strunk 2006): which periods end a sentence follows from lists
 * of abbreviations, of words that begin sentences, and from the case of the next word.
 *
 * Punkt also knows for 20,000 words in which case its training text had them. That table is not shipped: behind an
 * abbreviation, an initial or an ellipsis a list of common words stands in for it (`sentence-words.ts`).
 */
import { isUpper, isLower, stripEnd } from '../python-text';
import {
  ABBREVIATIONS,
  AMBIGUOUS_WORDS,
  COLLOCATIONS,
  COMMON_WORDS,
  SENTENCE_STARTERS,
} from './sentence-words';

type Span = readonly [start: number, end: number];

/** A sign that may end a sentence. */
interface Candidate {
  readonly index: number;
  /** Where the next sentence would begin. */
  readonly nextStart: number;
  /** The word before the sign, the sign, and what follows. */
  readonly context: string;
}

const NON_WORD = String.raw`[)";}\]*:@'({[‘’“”«»?!]`;
const MANY = String.raw`(?:-{2,}|\.{2,}|(?:\.\s){2,}\.)`;
const POSSIBLE_END = new RegExp(String.raw`[.?!](?=(?<after>${NON_WORD}|(?<space>\s+)\S+))`, 'g');
const TOKEN = new RegExp(
  String.raw`${MANY}|(?=[^("\x60{[:;&#*@)}\]\-,])\S+?(?=\s|$|${NON_WORD}|${MANY}|,(?=$|\s|${NON_WORD}|${MANY}))|\S`,
  'g',
);
const CLOSING = /^["')\]}‘’“”«»]+?(?:\s+|(?=--)|$)/;

export function splitSentences(text: string): readonly string[] {
  return Array.from(joinClosings(text, pieces(text)), ([start, end]) => text.slice(start, end));
}

function pieces(text: string): readonly Span[] {
  const found: Span[] = [];
  let start = 0;
  for (const { index, nextStart, context } of candidates(text)) {
    if (!endsSentence(context)) continue;
    found.push([start, index + 1]);
    start = nextStart;
  }
  found.push([start, stripEnd(text).length]);
  return found;
}

/** Of signs that share the word before ("!!!", "?!"), only the last is a candidate. */
function* candidates(text: string): Generator<Candidate> {
  let held: Candidate | null = null;
  let word: Span = [0, 0];
  for (const match of text.matchAll(POSSIBLE_END)) {
    const space = lastSpace(text, word[1], match.index);
    const start = space === null ? word[0] : space + 1;
    if (held && word[1] <= start) yield held;
    word = [start, match.index];
    const { after = '', space: gap } = match.groups ?? {};
    const nextStart = match.index + 1 + (gap?.length ?? 0);
    held = { index: match.index, nextStart, context: text.slice(start, match.index + 1) + after };
  }
  if (held) yield held;
}

/** The last space after `from` and before `to`. */
function lastSpace(text: string, from: number, to: number): number | null {
  for (let index = to - 1; index > from; index--)
    if (' \t\n\r\v\f'.includes(text.charAt(index))) return index;
  return null;
}

/** Quotation marks and brackets that close a sentence belong to it although they stand behind its period. */
function* joinClosings(text: string, spans: readonly Span[]): Generator<Span> {
  let moved = 0;
  for (const [index, [from, end]] of spans.entries()) {
    const start = from + moved;
    const next = spans[index + 1];
    const closing = next && CLOSING.exec(text.slice(next[0], next[1]))?.[0];
    moved = closing?.length ?? 0;
    if (next && closing !== undefined) yield [start, next[0] + stripEnd(closing).length];
    else if (start < end) yield [start, end];
  }
}

interface Token {
  readonly text: string;
  readonly type: string;
  isBreak: boolean;
  readonly isAbbreviation: boolean;
}

/** Whether a word of the context other than its last one ends a sentence. */
function endsSentence(context: string): boolean {
  const tokens = context
    .split('\n')
    .flatMap((line) => line.match(TOKEN) ?? [])
    .map(tokenOf);
  for (const [index, token] of tokens.entries()) {
    const next = tokens[index + 1];
    if (!next) return false;
    if (isBreak(token, next)) return true;
  }
  return false;
}

function tokenOf(text: string): Token {
  const bare = text.slice(0, -1).toLowerCase();
  const isPeriodFinal = text.endsWith('.') && !text.endsWith('..');
  const isAbbreviation =
    isPeriodFinal &&
    text.length > 1 &&
    (ABBREVIATIONS.has(bare) || ABBREVIATIONS.has(bare.split('-').at(-1) ?? ''));
  return {
    text,
    type: text.toLowerCase().replace(/^-?[.,]?\d[\d,.-]*\.?$/, '##number##'),
    isBreak: /^[.?!]$/.test(text) || (isPeriodFinal && !isAbbreviation),
    isAbbreviation,
  };
}

/** The second look at a token, with the word behind it. */
function isBreak(token: Token, next: Token): boolean {
  if (!token.text.endsWith('.')) return token.isBreak;
  const type = withoutPeriod(token.type);
  const nextType = next.isBreak ? withoutPeriod(next.type) : next.type;
  if (COLLOCATIONS.has(`${type}_${nextType}`)) return false;
  if (/^\p{L}\.$/u.test(token.text)) return token.isBreak && isBreakBehindInitial(next, nextType);
  if (token.isAbbreviation || /^\.\.+$/.test(token.text)) return isBreakBehindHeld(next, nextType);
  return token.isBreak && (type !== '##number##' || beginsSentence(next, nextType) !== false);
}

function isBreakBehindInitial(next: Token, nextType: string): boolean {
  return beginsSentence(next, nextType) ?? (AMBIGUOUS_WORDS.has(nextType) || !startsUpper(next));
}

/** Behind an abbreviation or an ellipsis. */
function isBreakBehindHeld(next: Token, nextType: string): boolean {
  if (beginsSentence(next, nextType) === true) return true;
  return startsUpper(next) && SENTENCE_STARTERS.has(nextType);
}

/** Null where the word's case says nothing. */
function beginsSentence(token: Token, type: string): boolean | null {
  if (/^[;:,.!?]$/.test(token.text)) return false;
  if (startsUpper(token) && COMMON_WORDS.has(type)) return true;
  return isLower(Array.from(token.text)[0] ?? '') ? false : null;
}

function startsUpper({ text }: Token): boolean {
  return isUpper(Array.from(text)[0] ?? '');
}

function withoutPeriod(type: string): string {
  return type.length > 1 && type.endsWith('.') ? type.slice(0, -1) : type;
}
