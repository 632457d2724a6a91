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

/** Without spaces, the keys of every object in alphabetical order. */
export function sortedJson(value: unknown): string {
  return JSON.stringify(value, (_, item: unknown) =>
    typeof item === 'object' && item !== null && !Array.isArray(item)
      ? Object.fromEntries(Object.entries(item).sort(([a], [b]) => (a < b ? -1 : 1)))
      : item,
  );
}
