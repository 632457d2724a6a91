import { findBoxes } from '../boxed';
import { correctionIn, framingOf, isSetAside } from './framed';
import { areOnlyLetters, isWord } from './letter-words';

/** How far from its end a completion is searched for a letter that nothing announces. */
const TAIL_LENGTH = 300;
const SENTENCE_LENGTH = 80;
/** With all around it. */
const LONGEST_LETTER = 40;

/** "One choice is …" and "a wrong answer is …" announce none. */
const PHRASE =
  /(?<!\b(?:one|another|other|possible|plausible|wrong|incorrect|tempting|common|first|second|third|next|initial)\s{1,4})(?:answer|(?<=\b(?:correct|right|best|final|my|the|our)\s{1,4}|^[\s*_#]{0,8}|[.;:]\s)(?:choice|option))\s{0,4}(?:is\b|is(?!n['’]t)(?=[A-Z]\b)|:|：)(?!\s{1,4}to\b)|(?<!错误的?|不正确的?|不|并非)(?:答案|正确选项)[】\]]?\s{0,4}(?:是|为|:|：|(?=[\s*_(（]{0,3}[A-Z](?![A-Za-z])))/gim;

/** Several letters are named, so none is chosen; not the same as none named. */
const HEDGED = Symbol('several letters');
type Named = string | typeof HEDGED | null;

/**
 * "选A", "故选：B": the letter comes at once, and no other word behind it ("选B细胞"). Not "选项A", "不选A", "若选A", "可选A", "有人选A", nor what is
 * asked ("选B？", "选A还是选B").
 */
const CHOSEN =
  /(?<!不|不能|不应|不应该|不该|不可|不宜|不会|无法|别|勿|未|没|没有|若|如|如果|假如|要是|假设|误|错|多|可|候|备|待|任|首|筛|挑|难道|并非|精|自|人)选择?[\s:：*_("'“‘（【[]{0,6}([A-Z])(?![A-Za-z0-9])(?!项?[)”’）】\]*_]{0,4}\s{0,2}(?:[?？]|是?不|是?错|是?有误|显然不|的话|(?!项|或|和|与|及)\p{Script=Han}))/gu;

/**
 * The letter a completion chooses among the first `count` letters, or null.
 *
 * In this order: the first `\boxed{X}`; the first sentence with "answer is", "answer:" (also in Chinese) that names a
 * letter; the letter that the completion begins with ("B. For …"), unless another line begins with one too; the one capital letter that
 * stands alone in the last 300 characters and is called right ("B is correct."), else the last one that is not ruled out ("not B", "不选B", "C is wrong", "C选项错误"). A letter must be a word of its own, so that
 * "the answer is clearly B" is B and "definitely" is nothing; "A or B" chooses none; the article "A" and the pronoun "I" are not letters; small
 * letters count only where nothing but punctuation follows ("the answer is (b)").
 */
export function choiceLetter(completion: string, count: number): string | null {
  const letters = firstLetters(count);
  const text = withPlainLetters(completion);
  const announcements = announcementsIn(text, letters);
  const letter =
    inBox(text, letters) ??
    announced(announcements) ??
    opening(text, letters) ??
    lastAlone(text, letters, announcements);
  return letter === HEDGED ? null : letter;
}

/** "Ｂ" is B; places in the text stay as they are. */
function withPlainLetters(text: string): string {
  return text.replace(/[\uFF21-\uFF3A]/g, (letter) => letter.normalize('NFKC'));
}

/** The same where the letter alone was asked for, so that "A B C D" chooses none: "d", "c)", "**b.**", also on the last line, and "b. 4" are answers too. */
export function loneLetter(completion: string, count: number): string | null {
  const letters = firstLetters(count);
  if (areOnlyLetters(completion, letters)) return null;
  return (
    nothingElse(completion, letters) ??
    choiceLetter(completion, count) ??
    onLastLine(completion, letters) ??
    opening(withCapitalItems(completion), letters)
  );
}

function firstLetters(count: number): ReadonlySet<string> {
  return new Set(Array.from('ABCDEFGHIJKLMNOPQRSTUVWXYZ').slice(0, count));
}

function nothingElse(text: string, letters: ReadonlySet<string>): string | null {
  if (text.length > LONGEST_LETTER) return null;
  const letter = /^[\s*_`$("'[]*([a-z])[\s)\]*_`$"'.:,]*$/i.exec(text)?.[1]?.toUpperCase() ?? '';
  return letters.has(letter) ? letter : null;
}

/** "b. 4", "(b) the second one", as if the letter of each line were a capital. */
function withCapitalItems(text: string): string {
  return text.replace(/^[ \t]*[-*_("'[ \t]{0,6}[a-z][)\]*_"']{0,4}(?:[.:：)](?=\s)|(?<=\))\s)/gm, (item) =>
    item.toUpperCase(),
  );
}

/** Of a list of letters that ends there none is chosen. */
function onLastLine(text: string, letters: ReadonlySet<string>): string | null {
  const [last = '', before = ''] = text.trimEnd().split(/\n\s*/).slice(-2).reverse();
  const letter = nothingElse(last, letters);
  const other = nothingElse(before, letters);
  return other === null || other === letter ? letter : null;
}

function inBox(completion: string, letters: ReadonlySet<string>): Named {
  const [first] = findBoxes(completion);
  if (first === undefined) return null;
  const bare = first.content
    .slice(0, 200)
    .replace(/\\(?:text|textbf|mathrm|mathbf)(?![a-z])|\\[{}\s]|[{}()[\].$]/g, ' ')
    .toUpperCase()
    .trim();
  if (letters.has(bare)) return bare;
  const several = bare.split(/[\s,;/&、|+]|\\&|\b(?:OR|AND)\b/).filter((part) => part !== '');
  if (several.length > 1 && several.every((part) => letters.has(part))) return HEDGED;
  return TAKEN_BACK.test(bare) ? HEDGED : null;
}

/** In a box around a letter alone. */
const TAKEN_BACK = /^(?:\\(?:NEG|LNOT)|NOT)\s*[A-Z]$|^[A-Z]\s+(?:IS\s+)?(?:WRONG|INCORRECT|FALSE|NOT)\b/;

interface Announced {
  /** Where the announcement begins. */
  readonly index: number;
  readonly letter: Named;
  /** Where the letter ends. */
  readonly end: number;
  /** Said, and not denied, supposed, said of others, or set aside behind. */
  readonly isMeant: boolean;
  /** A letter that is not meant is none wherever it stands, or only here. */
  readonly isAvoided: boolean;
}

function announced(announcements: readonly Announced[]): Named {
  const meant = announcements.filter(({ isMeant }) => isMeant);
  const answers = meant.map(({ letter }) => letter).filter((letter) => letter !== null);
  return answers.find((letter) => letter !== HEDGED) ?? answers[0] ?? null;
}

/** In the order of the text. */
function announcementsIn(completion: string, letters: ReadonlySet<string>): readonly Announced[] {
  const named = [...completion.matchAll(PHRASE)].map(({ 0: phrase, index }): Announced => {
    const start = index + phrase.length;
    const { letter, end } = inSentence(completion.slice(start, start + SENTENCE_LENGTH), letters);
    const framing = framingOf(completion, index);
    const isAvoided = framing === 'framed';
    if (areOnlyLetters(completion.slice(start), letters))
      return { index, letter: HEDGED, end: start, isMeant: framing === null, isAvoided };
    return { index, letter, end: start + end, isMeant: framing === null, isAvoided };
  });
  const chosen = [...completion.matchAll(CHOSEN)].map(({ 0: all, 1: letter = '', index }): Announced => {
    const end = index + all.length;
    const named = isHedged(completion.slice(end, end + SENTENCE_LENGTH), letters) ? HEDGED : letter;
    return { index, end, letter: letters.has(letter) ? named : null, isMeant: true, isAvoided: false };
  });
  const found = [...named, ...chosen].sort((left, right) => left.index - right.index);
  return found.map((each, at) => withWhatFollows(each, { completion, letters, next: found[at + 1] }));
}

interface Following {
  readonly completion: string;
  readonly letters: ReadonlySet<string>;
  readonly next: Announced | undefined;
}

/** Where the same sentence or the next one corrects the letter or sets it aside. */
function withWhatFollows(each: Announced, { completion, letters, next }: Following): Announced {
  if (each.letter === null || !each.isMeant) return each;
  const behind = completion.slice(each.end, each.end + SENTENCE_LENGTH * 2);
  const correction = correctionIn(behind);
  if (correction !== null && letters.has(correction)) return { ...each, letter: correction };
  const isNextNear = next?.letter != null && next.isMeant && next.index - each.end <= behind.length;
  const untilNext = isNextNear ? completion.slice(each.end, next.index) : null;
  return isSetAside(behind, untilNext) ? { ...each, isMeant: false, isAvoided: true } : each;
}

interface Found {
  readonly letter: Named;
  readonly end: number;
}

/** The letter may come at once ("is (b)", "isB") or behind a few words; one behind "not" is not it. */
function inSentence(text: string, letters: ReadonlySet<string>): Found {
  const { sentence, offset } = firstSentenceOf(text);
  const small = smallAlone(sentence);
  if (letters.has(small.letter)) return { letter: small.letter, end: offset + small.end };
  for (const { index } of sentence.matchAll(ALONE)) {
    const letter = letterAt(sentence, index, letters);
    const rest = sentence.slice(index + 1);
    if (letter !== null && ASKED.test(rest)) break;
    if (letter !== null && !isRuledOut(sentence.slice(0, index), rest))
      return { letter: isHedged(rest, letters) ? HEDGED : letter, end: offset + index + 1 };
  }
  return { letter: null, end: 0 };
}

function firstSentenceOf(text: string): { readonly sentence: string; readonly offset: number } {
  const offset = /^\s*/.exec(text)?.[0].length ?? 0;
  return { sentence: /^[^.!?。！？\n]*/.exec(text.slice(offset))?.[0] ?? '', offset };
}

/** The small letter that a sentence consists of or begins with, as a capital, and where it ends. */
function smallAlone(sentence: string): { readonly letter: string; readonly end: number } {
  const found = /^[*_$(\\[\s"']*([a-z])[)\]*_$"']*\s*(?:$|[,;:，。])|^[*_\s]{0,4}\(([a-z])\)\s/.exec(
    sentence,
  );
  const letter = found?.[1] ?? found?.[2] ?? '';
  return { letter: letter.toUpperCase(), end: (found?.[0] ?? '').lastIndexOf(letter) + 1 };
}

/** Behind a letter: another one on equal terms ("A or B", "A/B", "A and C are"), not one of which more is said ("B and C is wrong"). */
const OTHER =
  /^[)\]}*_$"'.]{0,6}\s{0,2}(?:(?:or|and)\s|,\sor\s|[/&|、和与及]|或者?|还是)(?:(?:maybe|perhaps|possibly|also)\s)?[\s*_$("'[{]{0,6}(?:option\s)?([A-Z])(?![A-Za-z0-9])[\s)\]}*_$"']{0,6}(?:$|[.,;:!?、，。；？/&]|(?:or|and|are|but)\b)/;
/** "B, C", "A, B, C, or D", "(B) (C)": nothing is said of the second one. */
const LISTED =
  /^[)\]}*_$"']{0,6}(?:[,，]\s{0,2}[*_$("'[{]{0,4}([A-Z])[)\]}*_$"']{0,4}(?:\s{0,2}$|[.;。]|,\s(?:(?:or|and)\s)?[("'[{]{0,4}[A-Z](?![A-Za-z]))|\s{0,2}\(([A-Z])\))/;

/** "答案是B吗" */
const ASKED = /^[)）\]*_"”]{0,4}\s{0,2}[吗么呢]/;

function isHedged(rest: string, letters: ReadonlySet<string>): boolean {
  const listed = LISTED.exec(rest);
  return letters.has(OTHER.exec(rest)?.[1] ?? listed?.[1] ?? listed?.[2] ?? '');
}

function isNegated(before: string): boolean {
  return /\b(?:not|n['’]t|neither|nor|(?:any|every|all)(?:thing|\sof\sthem)?\s(?:but|except|other\sthan))\s*(?:option\s*)?[*("'[]*(?:[A-Z][)\]*"'.,]{0,4}\s(?:or|nor)\s(?:option\s*)?[*("'[]*){0,3}$/i.test(
    before.slice(-40),
  );
}

/** A capital with no letter or digit of the Latin alphabet beside it; Chinese and Markdown around it are fine. */
const ALONE = /(?<![A-Za-z0-9])[A-Z](?![A-Za-z0-9])/g;

/** "B. For …", "(B) because …" */
const OPENING = /^[\s*_("'[]{0,6}([A-Z])[)\]*_"']{0,4}(?:[.:：)]|(?<=\))\s)/;
const ITEM = /^[ \t]*[-*_("'[ \t]{0,6}[A-Z][)\]*_"']{0,4}[.:：)]/gm;

function opening(completion: string, letters: ReadonlySet<string>): string | null {
  const letter = OPENING.exec(completion)?.[1] ?? '';
  const isList = [...completion.matchAll(ITEM)].length > 1;
  const rest = completion.slice(OPENING.exec(completion)?.[0].length ?? 0).slice(0, 20);
  return letters.has(letter) &&
    !isList &&
    !/^\s*(?:is\s)?(?:wrong|incorrect|false|no\b|not\b|错|不)/i.test(rest)
    ? letter
    : null;
}

/** The one that is called right, else the last one that is not ruled out; none where another one stands before it on equal terms ("A, B", "both A and B", "A和B"). */
function lastAlone(
  completion: string,
  letters: ReadonlySet<string>,
  announcements: readonly Announced[],
): string | null {
  const tail = completion.slice(-TAIL_LENGTH);
  const unmeant = announcements.filter(({ isMeant }) => !isMeant);
  const places = new Set(unmeant.map(({ end }) => end - 1 - (completion.length - tail.length)));
  const avoided = new Set(unmeant.flatMap(({ letter, isAvoided }) => (isAvoided ? [letter] : [])));
  const open = [...tail.matchAll(ALONE)].filter(({ 0: letter, index }) => {
    const rest = tail.slice(index + 1);
    if (isRuledOut(tail.slice(0, index), rest) || letterAt(tail, index, letters) === null) return false;
    return !places.has(index) && (!avoided.has(letter) || CALLED_RIGHT.test(rest));
  });
  const right = new Set(
    open.filter(({ index }) => CALLED_RIGHT.test(tail.slice(index + 1))).map(([letter]) => letter),
  );
  const [only] = right.size === 1 ? right : [];
  const last = open.at(-1);
  if (only !== undefined || last === undefined) return only ?? null;
  const other = JOINED.exec(tail.slice(Math.max(0, last.index - JOIN_LENGTH), last.index))?.[1];
  return other !== undefined && other !== last[0] && letters.has(other) ? null : last[0];
}

const JOIN_LENGTH = 30;
/** Before a letter: another one. */
const JOINED =
  /(?<![A-Za-z0-9])([A-Z])[)\]}*_"'”’]{0,4}\s{0,2}(?:[,，、|&;和与或及]|(?:,\s)?(?:and|or)\s|或者|还是)\s{0,2}(?:(?:and|or|option|maybe|perhaps)\s){0,2}[[({*_"'“‘]{0,4}$/;

/** "不选B", "若选B", "答案不是B", "错误答案是B" */
const UNCHOSEN =
  /(?:(?:不|别|勿|未|没有?|若|如果?|假如|要是|假设|并非|难道)(?:能|应该?|该|可能?|宜|会)?(?:选择?|是)|(?:错误|不正确的?)(?:的)?(?:答案|选项)(?:是|为))[\s:：*_("'“‘（【[]{0,6}$/;
/** "C is wrong", "C isn't", "C选项错误", "C不对" */
const REJECTED =
  /^[)\]*_"'”’）】]{0,4}(?:\s{0,2}(?:项|选项)?\s{0,2}(?:也|都|均|显然|就)?(?:是?错|不(?![但仅只止])|是?有误)|,?\s(?:is|was|are|were|would be|seems|looks)(?:n['’]t\b|\s(?:also\s|clearly\s)?(?:wrong|incorrect|false|not|impossible|invalid|(?:ruled\s|eliminated|excluded|out\b)))|\sfails?\b)/i;
/** "B can be eliminated", "B does not hold", "B?" */
const DOUBTED =
  /^[)\]*_"'”’）】]{0,4}(?:\s(?:can|could|must|should)\sbe\s(?:eliminated|excluded|discarded|rejected|ruled)\b|\s(?:does|do)(?:n['’]t|\snot)\s(?:hold|work|fit|apply|follow)\b|\s?[?？])/i;
/** "B is correct", "B项正确" */
const CALLED_RIGHT =
  /^[)\]*_"'”’）】]{0,4}(?:\s(?:is|must\sbe)\s(?:the\s)?(?:correct|right|best)(?:\s(?:answer|option|choice|one))?|\s?(?:项|选项)?(?:是|的?说法)?正确的?)(?=$|[.,;:!?。，；！])/i;
/** "B over C", "B rather than C", "B is better than C" */
const PASSED_OVER =
  /\b(?:over|rather\sthan|instead\sof|unlike|(?<!\b(?:no|not)\s)(?:better|stronger|(?<!not\s)more\s[a-z]{4,15})\sthan|(?:superior|preferable)\sto)\s(?:option\s)?[*_("'[]{0,4}$/i;
/** "rule out B", "eliminate A, C and D", "the wrong answer is B", "least likely: B" */
const EXCLUDED =
  /(?:\b(?:rul(?:e|es|ed|ing)\sout|exclud(?:e|es|ed|ing)|eliminat(?:e|es|ed|ing)|reject(?:s|ed|ing)?|discard(?:s|ed|ing)?)\s|\b(?:(?:wrong|incorrect|false|worst)\s(?:answer|option|choice|one)s?|least\slikely(?:\s(?:answer|option|choice))?)(?:\s(?:is|are)|:)\s{0,2})(?:options?\s|choices?\s)?[*_("'[]{0,4}(?:[A-Z][)\]*_"']{0,4}(?:,\s?(?:(?:and|or)\s)?|\s(?:and|or)\s)[*_("'[]{0,4}){0,8}$/i;

function isRuledOut(before: string, rest: string): boolean {
  const behind = rest.slice(0, 40);
  return (
    isNegated(before) ||
    EXCLUDED.test(before.slice(-80)) ||
    PASSED_OVER.test(before.slice(-30)) ||
    UNCHOSEN.test(before.slice(-20)) ||
    REJECTED.test(behind) ||
    DOUBTED.test(behind) ||
    ASKED.test(behind)
  );
}

function letterAt(text: string, index: number, letters: ReadonlySet<string>): string | null {
  const letter = text[index] ?? '';
  return letters.has(letter) && !isWord(text, index) ? letter : null;
}
