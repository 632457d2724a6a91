import { isHarmless } from './conditions';
import { isLabel } from './labels';
import { withoutLayout } from './layout';
import { withUsualBrackets } from './outward-brackets';
import { enclosed } from './top-level';

const CHARACTERS: ReadonlyMap<string, string> = new Map([
  ['−', '-'],
  ['–', '-'],
  ['‐', '-'],
  ['‑', '-'],
  ['‒', '-'],
  ['﹣', '-'],
  ['×', '\\times '],
  ['·', '\\cdot '],
  ['⋅', '\\cdot '],
  ['÷', '/'],
  ['π', '\\pi '],
  ['∞', '\\infty '],
  ['∪', '\\cup '],
  ['∩', '\\cap '],
  ['∅', '\\emptyset '],
  ['∈', '\\in '],
  ['±', '\\pm '],
  ['≤', '\\le '],
  ['≥', '\\ge '],
  ['≠', '\\ne '],
  ['≈', '\\approx '],
  ['²', '^{2}'],
  ['³', '^{3}'],
  ['℃', '°C'],
  ['℉', '°F'],
  ['½', '\\frac{1}{2}'],
  ['θ', '\\theta '],
  ['\u00a0', ' '],
  ['…', '...'],
  ['⌊', '\\lfloor '],
  ['⌋', '\\rfloor '],
  ['⌈', '\\lceil '],
  ['⌉', '\\rceil '],
  ['⟨', '\\langle '],
  ['⟩', '\\rangle '],
]);

/** Letters, digits and signs of Chinese and Japanese keyboards. */
const FULL_WIDTH = /[\uff01-\uff5e]/g;
const FULL_WIDTH_OFFSET = 0xff01 - 0x21;

type Replacement = string | ((match: string, ...groups: readonly unknown[]) => string);

const withoutLabel = (match: string, words: unknown) => (isLabel(String(words)) ? '' : match);
/** For patterns without groups. */
const withoutCondition = (match: string, at: unknown, whole: unknown) =>
  isHarmless(match, String(whole).slice(0, Number(at))) ? '' : match;

/** In this order; each sees what the ones before it left. */
const REWRITES: readonly (readonly [RegExp, Replacement])[] = [
  // Runs of spaces would be gone through from each of their spaces by what follows.
  [/\s+/g, ' '],
  [/\\[()[\]]/g, ' '],
  [/\\\$|\$/g, ''],
  [/\\!\s*/g, ''],
  // As programs write it.
  [/(?<=[\w)}\]]\s*)\*\*\s*([+-]?\d+(?:\.\d+)?|[a-zA-Z](?![a-zA-Z]))/g, '^{$1}'],
  [/(?<=[\w)}\]]\s*)\*\*\s*(?=[(\\{])/g, '^'],
  [/(?<![\\a-zA-Z])abs\s*\(([^()]*)\)/g, '|$1|'],
  [/\s*\{\s*,\s*\}\s*/g, '{,}'],
  // Between braces a comma groups digits, also within brackets.
  [/(?<=(?<!\d)[1-9]\d{0,2}(?:\{,\}\d{3}){0,9})\{,\}(?=\d{3}(?!\d))/g, ''],
  [/\{,\}/g, ','],
  [/\\[,;: ]|\\(?:quad|qquad|displaystyle|limits)(?![a-zA-Z])|~/g, ' '],
  [/\s+/g, ' '],
  [/\\m?(?:left|right|big|Big|bigg|Bigg)[lr]?(?![a-zA-Z])\s*/g, ''],
  [/\\[dtc]frac(?![a-zA-Z])/g, '\\frac'],
  [/\\[dt]binom(?![a-zA-Z])/g, '\\binom'],
  // Colours, and fonts of formulas
  [/\\(?:text)?color\s*\{[a-zA-Z!\d]{1,20}\}\s*/g, ''],
  [/\\(?:bf|rm|it|sf|tt|bfseries|boldmath)(?![a-zA-Z])\s*/g, ''],
  [/\\(?:boldsymbol|bm|pmb|mathbf|mathit|mathrm|mathsf)\s*(?=\{[^{}]*[\\=<>])/g, ''],
  [
    /\\(?:operatorname\*?|mathrm)\s*\{\s*(arcsin|arccos|arctan|sinh|cosh|tanh|sin|cos|tan|cot|sec|csc|ln|log|lg|exp|gcd|lcm)\s*\}/g,
    '\\$1 ',
  ],
  [/\\lg(?![a-zA-Z])/g, '\\log_{10}'],
  // 0.\dot{3}, 0.\dot{1}4\dot{2}
  [/(?<=\.\d{0,20})\\dot\s*\{?\s*(\d)\s*\}?(?:(\d{0,20})\\dot\s*\{?\s*(\d)\s*\}?)?/g, '\\overline{$1$2$3}'],
  [/[€£¥₹]\s*(?=\d)|(?<=\d)\s*[€£¥₹]/g, ''],
  [
    /\\(?:textbf|textit|textrm|textnormal|mathit|mathbf|mathrm|mathsf|boldsymbol|bm|mbox|operatorname\*?)\s*(?=\{)/g,
    '\\text',
  ],
  [/\\text\s*\{\s*\}/g, ' '],
  [
    /^\s*(?:\\approx(?![a-zA-Z])|\\text\s*\{\s*(?:approximately|approx\.?|about|roughly)\s*\})\s*(?=[-\d\\])/i,
    '',
  ],
  // Of several choices
  [/^\s*\\text\s*\{\s*\([A-E]\)\s*\}\s*(?=[-\d\\(])/, ''],
  // 17^{\text{th}}
  [/(?<=\d)\s*\^\s*\{\s*(?:\\text\s*\{\s*)?(?:st|nd|rd|th)\s*\}(?:\s*\})?/g, ''],
  [/^\s*[a-zA-Z]\s*\\equiv(?![a-zA-Z])\s*(?=.{1,60}\bmod\b|.{1,60}\\pmod)/, ''],
  // Of every whole number
  [/(?<=[kn].{0,200}),\s*\(?\s*[kn]\s*\\in\s*\\mathbb\s*\{?\s*Z\s*\}?\s*\)?\s*$/, ''],
  [/\\text\s*\{\s*(\d+|[ei])\s*\}/g, ' $1 '],
  [/^\s*\\text\s*\{\s*([+-])\s*\}\s*(?=[\d\\(])/, '$1'],
  [/^\s*\\text\s*\{\s*([+-]?\d[\d.,]*)\s*\}\s*$/, '$1'],
  [/^\s*\\text\s*\{\s*([+-]?\d[\d.,/]*) ([a-zA-Z]{1,20}(?: [a-zA-Z]{2,20}){0,2})\s*\}\s*$/, '$1\\text{ $2}'],
  // What it is called, and under which conditions it holds.
  [
    /^\s*\\text\s*\{\s*(?:therefore|thus|so|hence|then|finally)(?:,? we (?:have|get|obtain|find))?\s*[,:]?\s*\}\s*(?=\S)/i,
    '',
  ],
  [/^\s*\\text\s*\{([^{}]{0,60}?\b(?:is|are|equals))\s*:?\s*\}\s*(?=\S)/i, withoutLabel],
  [/^\s*\\text\s*\{([^{}:=]{0,60})[:=]\s*\}\s*(?=\S)/, withoutLabel],
  [
    /^\s*\\text\s*\{\s*([a-zA-Z][a-zA-Z ]{1,40}):\s*([^{}]{1,60})\}\s*$/,
    (match, words, value) => (isLabel(String(words)) ? String(value) : match),
  ],
  [
    /^\s*\\text\s*\{\s*(?:the\s+)?(?:final\s+)?(?:answer|result|solution|value)\s*(?:is|:|=)\s*([^{}]{1,60})\}\s*$/i,
    '$1',
  ],
  [
    /(?<=\S)\s*,?\s*\\text\s*\{\s*,?\s*(?:(?:for|where|when)\b(?!\s+the\s+first)[^{}]{0,100})\}(?:(?!\\text|\\\\begin)[^;]){0,100}$/i,
    withoutCondition,
  ],
  // "(since x > 3)", "(the minimum)"
  [
    /(?<=\S)\s*\\text\s*\{\s*\(\s*(?:since|because)\b[^{}()]{0,100}\}(?:(?!\\text|\\begin)[^;()]){0,100}\)\s*$/i,
    withoutCondition,
  ],
  [/(?<=\S)\s*\\text\s*\{\s*\(\s*(?:since|because|the)\b[^{}()]{0,80}\)\s*\}\s*$/i, withoutCondition],
  // Behind a number a letter in text is a unit, where there is such a one.
  [/(?<=[\d}]\s*)\\text\s*\{\s*([^mghslLNJWVAKCFT\W\d_])\s*\}/g, ' $1 '],
  [/(?<![\d}]\s*)\\text\s*\{\s*(\w)\s*\}/g, ' $1 '],
  [/,?\s*\\text\s*\{\s*,?\s*(?:and|or)\s*\}\s*/g, ', '],
  [/(?<=[)\]}\d])\s*(?:and|or)\s*(?=[([{\\\d-])/g, ', '],
  [/\s*\\(?:lor|vee)(?![a-zA-Z])\s*(?=[^=]{1,60}=)/g, ', '],
  // W(x)=1orW(x)=-1
  [/(?<=\d)(?:and|or)(?=[a-zA-Z]\s*[(=_])/g, ', '],
  [/,?(?<![a-zA-Z\\])\s+(?:and|or)\s+(?![a-zA-Z]{3})/g, ', '],
  [/\^\s*\{?\s*\\circ\s*\}?|\\degrees?(?![a-zA-Z])|\\circ\b/g, '°'],
  [/\\lbrace(?![a-zA-Z])/g, '\\{'],
  [/\\rbrace(?![a-zA-Z])/g, '\\}'],
  [/\\(min|max|gcd|lcm)\s*\\\{([^{}\\]{1,200})\\\}/g, '\\$1($2)'],
  // (2714)_8
  [/^\s*\(\s*([\dA-F]{1,100})\s*\)\s*(?=_)/, '$1'],
  [
    /^\s*(?:\\text\s*\{)?\s*(?:(?:there\s+(?:is|are)\s+)?no\s+solutions?|(?:the\s+)?empty\s+set)\.?\s*\}?\s*$/i,
    '\\emptyset',
  ],
  [
    /^\s*(?:\\text\s*\{)?\s*(?:the\s+set\s+of\s+)?all\s+real(?:s|\s+numbers?)\.?\s*\}?\s*$/i,
    '(-\\infty,\\infty)',
  ],
  [/\\(?:leqslant|leq|le)(?![a-zA-Z])|<=/g, '\\le '],
  [/\\(?:geqslant|geq|ge)(?![a-zA-Z])|>=/g, '\\ge '],
  [/\\(?:neq|ne)(?![a-zA-Z])|!=/g, '\\ne '],
  [/\\lt(?![a-zA-Z])/g, '<'],
  [/\\gt(?![a-zA-Z])/g, '>'],
  [/\\varnothing(?![a-zA-Z])/g, '\\emptyset '],
  [/\\times(?![a-zA-Z])/g, '\\cdot '],
  [/(?<=\d\s*)[xX](?=\s*10\s*\^)/g, '\\cdot '],
  // A vector, not two inequalities.
  [/(?<=(?:^|[=,])\s*)<([^<>=,]*,[^<>=]*)>/g, '\\langle $1\\rangle '],
  [/\\sqrt\s*((?:\[[^[\]]{1,20}\])?)\s*(\d|[a-zA-Z](?![a-zA-Z]))/g, '\\sqrt$1{$2}'],
  [/\\(frac|binom)\s*(\d)\s*(\d)/g, '\\$1{$2}{$3}'],
  [/\\frac\s*(\d)\s*(?=\{)/g, '\\frac{$1}'],
  [/(\\frac\s*\{[^{}]*\})\s*(\d|[a-zA-Z](?![a-zA-Z]))/g, '$1{$2}'],
  [/(?<![\\a-zA-Z])(?:infinity|infty|inf|oo)(?![a-zA-Z])/g, '\\infty '],
  [
    /(?<![\\a-zA-Z])(pi|theta|alpha|beta|sqrt|sin|cos|tan|cot|sec|csc|log|ln|exp|arcsin|arccos|arctan)(?![a-zA-Z])/g,
    '\\$1 ',
  ],
  [
    /\s*\\?%|\s*\\text\s*\{\s*(?:percent|pct|percentage)\s*\}|\s*(?<![a-zA-Z])(?:percentage(?!\s+points?)|percent|pct)(?![a-zA-Z])/gi,
    '%',
  ],
  [/(?<=^|[(,[\s])\+\s*(?=\\infty)/g, ''],
  [/\s+/g, ' '],
  [/_(\w)\s+/g, '_{$1}'],
  [/\s*([{}^_])\s*/g, '$1'],
  [/(?<=\d)\s*\\?(?:text\{)?\s*thousand\b\}?/g, '\\cdot10^{3}'],
  [/(?<=\d)\s*\\?(?:text\{)?\s*million\b\}?/g, '\\cdot10^{6}'],
  [/(?<=\d)\s*\\?(?:text\{)?\s*billion\b\}?/g, '\\cdot10^{9}'],
  [/(?<=\d)\s*\\?(?:text\{)?\s*trillion\b\}?/g, '\\cdot10^{12}'],
  // 0.333…, 0.1212…, 0.142857142857…
  [
    /^([+-]?\d{0,20}\.\d{0,20}?)(?:(\d)\2{2,}|(\d{2})\3{2,}|(\d{3,9})\4+)\s*(?:\.{3,}|\\[lc]?dots)\s*$/,
    '$1\\overline{$2$3$4}',
  ],
  // What goes on is not what is written so far.
  [/(?<=[\d,]\s*)\.{3,}\s*$/, '\\ldots'],
  [/(?:[.,;:\s]|\\(?=$))+$/, ''],
];

/**
 * A formula without what only affects its looks: spacing, sizes, fonts, dollar signs, variants of the same command, Unicode for
 * commands. Text commands become `\text{…}`, degrees `°`, percent signs `%`.
 */
export function cleanLatex(text: string): string {
  let result = withoutLayout(text)
    .replace(FULL_WIDTH, (character) => String.fromCharCode(character.charCodeAt(0) - FULL_WIDTH_OFFSET))
    .replace(/[^\u0000-\u007f]/gu, (character) => CHARACTERS.get(character) ?? character);
  // Escaped once too often, as in JSON; in a matrix two backslashes end a row.
  if (!text.includes('\\begin')) result = result.replace(/\\\\(?=[a-zA-Z{}])/g, '\\');
  // The end of a row of a matrix, out of the way of commands that a backslash and a sign make.
  result = result.replaceAll('\\\\', '\\newline ');
  for (const [pattern, replacement] of REWRITES) result = rewritten(result, pattern, replacement);
  return withoutOuterBraces(withBracedArguments(withUsualBrackets(result.trim())));
}

function rewritten(text: string, pattern: RegExp, replacement: Replacement): string {
  return typeof replacement === 'string'
    ? text.replace(pattern, replacement)
    : text.replace(pattern, replacement);
}

/** `\sqrt(a)` and `x^(a)` with braces, so that what is inside may have brackets of its own. */
function withBracedArguments(text: string): string {
  const match = /(?:\\sqrt|\^)\s*\(/.exec(text);
  if (!match) return text;
  const open = match.index + match[0].length - 1;
  const close = closingOf(text, open);
  if (close < 0) return text;
  const head = text.slice(0, open).trimEnd();
  return `${head}{${withBracedArguments(text.slice(open + 1, close))}}${withBracedArguments(text.slice(close + 1))}`;
}

function closingOf(text: string, open: number): number {
  let depth = 0;
  for (let index = open; index < text.length; index++) {
    if (text[index] === '(') depth++;
    else if (text[index] === ')' && --depth === 0) return index;
  }
  return -1;
}

function withoutOuterBraces(text: string): string {
  const pair = enclosed(text);
  if (pair?.open !== '{' || pair.close !== '}') return text;
  // {1, 2} is a set whose backslashes were forgotten.
  return pair.inside.includes(',') ? `\\{${pair.inside}\\}` : pair.inside;
}
