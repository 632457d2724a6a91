import { splitWords } from '../python-text';
import { splitSentences } from './sentences';

type Rule = readonly [pattern: RegExp, replacement: string];

/** NLTK's word tokenizer: rules that put spaces around what is a word of its own, in order. */
const RULES: readonly Rule[] = [
  [/([«“‘„]|`+)/g, ' $1 '],
  [/^"/, '``'],
  [/(``)/g, ' $1 '],
  [/([ ([{<])("|'{2})/g, '$1 `` '],
  [/(?<![\p{L}\p{N}_])(')(?!(?:re|ve|ll|m|t|s|d|n)(?![\p{L}\p{N}_]))(?=[\p{L}\p{N}_])/giu, '$1 '],
  // The lookahead takes the whole run at once, so that spaces behind a period are not tried in every split.
  [/([^.])(\.)(?=([\])}>"'»”’ ]*))\3\s*$/, '$1 $2 $3 '],
  [/([:,])([^\d])/g, ' $1 $2'],
  [/([:,])$/, ' $1 '],
  [/\.{2,}/g, ' $& '],
  [/[;@#$%&]/g, ' $& '],
  [/[\u2012-\u2015]/g, ' $& '],
  [/[?!]/g, ' $& '],
  [/([^'])' /g, "$1 ' "],
  [/[*]/g, ' $& '],
  [/[\][(){}<>]/g, ' $& '],
  [/--/g, ' -- '],
  [/^|$/g, ' '],
  [/([»”’])/g, ' $1 '],
  [/''|"/g, " '' "],
  [/\s+/g, ' '],
  [/([^' ])('[sSmMdD]|') /g, '$1 $2 '],
  [/([^' ])('ll|'LL|'re|'RE|'ve|'VE|n't|N'T) /g, '$1 $2 '],
  [/\b(can)(not)\b|\b(gim)(me)\b|\b(gon)(na)\b|\b(got)(ta)\b|\b(lem)(me)\b/gi, ' $1$3$5$7$9 $2$4$6$8$10 '],
  [/\b(d)('ye)\b|\b(more)('n)\b|\b(wan)(na)(?=\s)| ('t)(is|was)\b/gi, ' $1$3$5$7 $2$4$6$8 '],
];

export function splitEnglishWords(text: string): readonly string[] {
  return splitSentences(text).flatMap((sentence) =>
    splitWords(
      RULES.reduce((spaced, [pattern, replacement]) => spaced.replace(pattern, replacement), sentence),
    ),
  );
}
