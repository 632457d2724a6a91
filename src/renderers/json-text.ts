/**
 * Works on JSON as text, because parsing and writing it again would change numbers such as `2.0` and long integers,
 * and the tokens with them. The input must be valid JSON.
 */

const TOKEN = /"(?:[^"\\]|\\.)*"|[{}[\],:]|[^\s"{}[\],:]+/g;

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

/** Text of a member's value in an object, as written; null where the object has no such key in plain spelling. */
export function memberText(json: string, name: string): string | null {
  let depth = 0;
  const tokens = [...json.matchAll(TOKEN)].map((match) => {
    const token = { text: match[0], start: match.index, depth };
    depth += DEPTH_CHANGES.get(token.text) ?? 0;
    return token;
  });
  const key = tokens.findLastIndex(
    (token, index) =>
      token.depth === 1 && token.text === JSON.stringify(name) && tokens[index + 1]?.text === ':',
  );
  const value = tokens.slice(key + 2);
  const end = value.find((token) => token.depth === 1 && (token.text === ',' || token.text === '}'));
  return key < 0 ? null : json.slice(value[0]?.start, end?.start).trimEnd();
}
