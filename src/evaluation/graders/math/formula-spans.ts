export interface FormulaSpan {
  readonly content: string;
  readonly start: number;
  readonly end: number;
}

interface Delimiters {
  readonly open: string;
  readonly close: string;
}

const DELIMITERS: readonly Delimiters[] = [
  { open: '$$', close: '$$' },
  { open: '\\[', close: '\\]' },
  { open: '\\(', close: '\\)' },
];
const OPENING = /\$|\\[[(]/g;
/** On one line, and not the sign of a price behind a digit. */
const INLINE = /(?<![\\\d])\$((?:\\.|[^$\n\\])+)\$/y;

/** What stands in `$$…$$`, `\[…\]`, `\(…\)` or `$…$`, in one pass: what is opened and never closed is looked for once. */
export function* formulaSpans(text: string): Generator<FormulaSpan> {
  const unclosed = new Set<Delimiters>();
  const opening = new RegExp(OPENING);
  for (let found = opening.exec(text); found; found = opening.exec(text)) {
    const span = displayAt(text, found.index, unclosed) ?? inlineAt(text, found.index);
    if (!span) continue;
    yield span;
    opening.lastIndex = span.end;
  }
}

function displayAt(text: string, start: number, unclosed: Set<Delimiters>): FormulaSpan | null {
  const delimiters = DELIMITERS.find(({ open }) => text.startsWith(open, start));
  if (!delimiters || unclosed.has(delimiters)) return null;
  const inside = start + delimiters.open.length;
  // At least one character stands between the two.
  const close = text.indexOf(delimiters.close, inside + 1);
  if (close < 0) {
    unclosed.add(delimiters);
    return null;
  }
  return { content: text.slice(inside, close), start, end: close + delimiters.close.length };
}

function inlineAt(text: string, start: number): FormulaSpan | null {
  const inline = new RegExp(INLINE);
  inline.lastIndex = start;
  const match = inline.exec(text);
  const content = match?.[1];
  return content === undefined ? null : { content, start, end: inline.lastIndex };
}
