/**
 * Works on JSON as text, because parsing and writing it again would change numbers such as `2.0` and long integers,
 * and the tokens with them. The input must be valid JSON.
 */

const TOKEN = /"[^"\\]*(?:\\.[^"\\]*)*"|[{}[\],:]|[^\s"{}[\],:]+/g;

const DEPTH_CHANGES = new Map([
  ['{', 1],
  ['[', 1],
  ['}', -1],
  [']', -1],
]);

/** One space after each comma and colon and none elsewhere, as chat templates' `tojson` writes. */
export function respaceJson(json: string): string {
  const tokens = json.match(TOKEN) ?? [];
  return tokens.map((token) => (token === ',' || token === ':' ? `${token} ` : token)).join('');
}

export interface JsonMember {
  readonly name: string;
  /** The value as written. */
  readonly text: string;
}

/** Members of an object in the order written, which `JSON.parse` changes for names that are numbers. */
export function objectMembers(json: string): JsonMember[] {
  const members: JsonMember[] = [];
  let depth = 0;
  let before = '""';
  let open: { readonly name: string; readonly start: number } | null = null;
  for (const { 0: text, index } of json.matchAll(TOKEN)) {
    if (depth === 1 && text === ':') open = { name: String(JSON.parse(before)), start: index + 1 };
    else if (depth === 1 && open && /^[,}]$/.test(text)) {
      members.push({ name: open.name, text: json.slice(open.start, index).trim() });
      open = null;
    }
    depth += DEPTH_CHANGES.get(text) ?? 0;
    before = text;
  }
  return members;
}

/** Text of a member's value in an object, as written; null where the object has no such key. */
export function memberText(json: string, name: string): string | null {
  return objectMembers(json).findLast((member) => member.name === name)?.text ?? null;
}

/** Texts of a list's items, as written. */
export function listItems(json: string): string[] {
  const items: string[] = [];
  let [depth, start] = [0, 1];
  for (const { 0: text, index } of json.matchAll(TOKEN)) {
    const isEnd = depth === 1 && (text === ',' || text === ']');
    if (isEnd && json.slice(start, index).trim() !== '') items.push(json.slice(start, index).trim());
    if (isEnd) start = index + 1;
    depth += DEPTH_CHANGES.get(text) ?? 0;
  }
  return items;
}

/** The keys of every object in alphabetical order, without spaces where the text has none; numbers stay as written. */
export function sortedJson(json: string): string {
  if (json.startsWith('[')) return `[${listItems(json).map(sortedJson).join(',')}]`;
  if (!json.startsWith('{')) return json;
  const members = new Map(objectMembers(json).map(({ name, text }) => [name, text]));
  const sorted = [...members].sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${sorted.map(([name, text]) => `${JSON.stringify(name)}:${sortedJson(text)}`).join(',')}}`;
}
