const LINE_END = /[\n\r\u2028\u2029]/;
const NESTED_HEAD = /^(?:\[|new\s+Array\()\s*(?=\[)/;

/**
 * The lists in a list, or in `new Array(…)`, with which a text of JavaScript begins, as the official converter finds them:
 * `/^\[\s*\[.*?\]\s*(?:,\s*\[.*?\]\s*)*\]/`, which takes time that doubles with each list that is none. Null where there are none.
 */
export function nestedLists(text: string): string | null {
  const head = NESTED_HEAD.exec(text)?.[0];
  if (head === undefined) return null;
  const close = head.startsWith('[') ? ']' : ')';
  const closings = [...text.matchAll(/\]/g)].flatMap(({ index }) => (index > head.length ? [index] : []));
  /** Where the whole ends if a list ends at the nearest closing from which it can. */
  let ahead: { readonly at: number; readonly end: number } | null = null;
  for (const at of closings.reverse()) {
    const end = endBehind({ text, close }, at, ahead);
    if (end !== null) ahead = { at, end };
  }
  return ahead && !LINE_END.test(text.slice(head.length, ahead.at)) ? text.slice(0, ahead.end) : null;
}

interface Lists {
  readonly text: string;
  readonly close: string;
}

/** `ahead`: of the closings behind this one the nearest with which a list can end. */
function endBehind(
  { text, close }: Lists,
  at: number,
  ahead: { readonly at: number; readonly end: number } | null,
): number | null {
  const behind = skipBlanks(text, at + 1);
  if (text[behind] === close) return behind + 1;
  const next = text[behind] === ',' ? skipBlanks(text, behind + 1) : -1;
  if (text[next] !== '[' || !ahead) return null;
  return LINE_END.test(text.slice(next, ahead.at)) ? null : ahead.end;
}

/**
 * Names and values of `a: 1, b: 2`, as the official converter finds them: `/([^:]+):\s*(.*?)(?:,\s*(?=[^,]+:)|$)/g`. A comma ends a value
 * where a colon stands before the next one.
 */
export function entriesOf(content: string): [name: string, value: string][] {
  const entries: [string, string][] = [];
  for (let start = 0; ;) {
    while (content[start] === ':') start++;
    const colon = content.indexOf(':', start);
    if (start >= content.length || colon < 0) return entries;
    const comma = endOfValue(content, colon + 1);
    entries.push([
      content.slice(start, colon).trim(),
      content.slice(colon + 1, comma ?? content.length).trim(),
    ]);
    if (comma === null) return entries;
    start = nextName(content, comma);
  }
}

function endOfValue(content: string, from: number): number | null {
  for (let comma = content.indexOf(',', from); comma >= 0;) {
    const next = content.indexOf(',', comma + 1);
    const colon = content.slice(comma + 2, next < 0 ? content.length : next).indexOf(':');
    if (colon >= 0) return comma;
    comma = next;
  }
  return null;
}

/** Behind the blanks, of which one stays where nothing else stands before the colon. */
function nextName(content: string, comma: number): number {
  const start = skipBlanks(content, comma + 1);
  const next = content.indexOf(',', start);
  const isNamed = content.slice(start + 1, next < 0 ? content.length : next).includes(':');
  return isNamed ? start : start - 1;
}

function skipBlanks(text: string, from: number): number {
  let position = from;
  while (position < text.length && /\s/.test(text.charAt(position))) position++;
  return position;
}
