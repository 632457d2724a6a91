const SIZE = String.raw`[-+]?(?:\d{1,5}(?:\.\d{0,5})?|\.\d{1,5})`;
const UNIT = 'pt|mm|cm|in|ex|em|mu|bp|pc|dd|cc|sp|px';
const NAMED_LENGTH = String.raw`\\(?:jot|baselineskip|lineskip|parskip|(?:small|med|big)skipamount|arraycolsep)(?![a-zA-Z])`;
const LENGTH = String.raw`\s{0,3}(?:${SIZE}\s{0,3}(?:${UNIT})|(?:${SIZE})?\s{0,3}${NAMED_LENGTH})\s{0,3}`;

/** In this order. */
const LAYOUT: readonly (readonly [RegExp, string])[] = [
  // Between the rows of a matrix. What stands in these brackets and is no length is what the next row begins with.
  [new RegExp(String.raw`(\\\\)\*?\s{0,3}\[${LENGTH}\]`, 'g'), '$1 '],
  [/(?<!\\)\\(?:cr(?:cr)?|tabularnewline)(?![a-zA-Z])/g, '\\\\ '],
  [new RegExp(String.raw`\\[hv]space\*?\s{0,3}\{${LENGTH}\}`, 'g'), ' '],
  [new RegExp(String.raw`\\(?:m?kern|[hmv]skip)${LENGTH}`, 'g'), ' '],
  [new RegExp(String.raw`\\rule\s{0,3}(?:\[${LENGTH}\])?\{0(?:${UNIT})\}\{${LENGTH}\}`, 'g'), ' '],
  [/\\(?:noalign|[hv]?phantom)\s{0,3}\{[^{}]{0,60}\}/g, ' '],
  [/\\(?:math)?strut(?![a-zA-Z])/g, ' '],
  [/\\(begin|end)\s{0,3}\{([pbvBV]?)small(matrix)\}/g, '\\$1{$2$3}'],
  [/\\(begin|end)\s{0,3}\{([pbvBV]?matrix)\*\}(?:\[[lcr]\])?/g, '\\$1{$2}'],
  [/\\(?:tiny|scriptsize|footnotesize|small|normalsize|large|Large|LARGE|huge|Huge)(?![a-zA-Z])\s?/g, ''],
];

/** A letter that is underlined may be a vector, and several pieces the digits of a number. */
const UNDERLINED =
  /^\s{0,9}\\u(?:nder)?line\s{0,3}\{(?!\s{0,3}[a-zA-Z]\s{0,3}\})((?:[^{}]|\{(?:[^{}]|\{[^{}]{0,99}\}){0,99}\}){1,300})\}\s{0,9}$/;
const STARRED_ROW = /\\\\\*/g;

/** A formula without the lengths, sizes, struts and lines that only lay it out; rows of a matrix end in two backslashes. */
export function withoutLayout(text: string): string {
  const plain = text.includes('\\begin') ? text.replace(STARRED_ROW, '\\\\') : text;
  return LAYOUT.reduce(
    (result, [pattern, replacement]) => result.replace(pattern, replacement),
    // Twice, as results are.
    plain.replace(UNDERLINED, '$1').replace(UNDERLINED, '$1'),
  );
}
