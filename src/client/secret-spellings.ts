/** From where in a text to where. */
export type Range = readonly [start: number, end: number];

/** Names of variables, fields, options and headers that hold a secret, also numbered, for one of several stages, or for several. */
export const SECRET_NAME =
  /(?:(?:api|access|auth|private|secret|subscription|license)[_-]?keys?|token|secrets?|passw(?:or)?ds?|passwort|passphrase|credentials?|authorization|webhook[_-]?url|(?:^|[_-])(?:pass|pwd|pw))(?:[_-]?\d{1,3}|[_-](?:prod|production|dev|test|staging|live))?$/i;

const NAME = /[\w-]{2,80}/g;
const QUOTED = /(["'`]{1,3})([^"'`\s]{8,500})\1/g;
/** `--password WORD`, `ENV API_TOKEN WORD`, `password WORD` of .netrc, `Authorization: WORD`, `<password>WORD</password>`. */
const BARE = /^["'`]?(?:[ \t]*[:=>])?[ \t]*([^\s"'`,;(){}[\]<>=:$]{8,500})/;
const BLOCK = /([\w-]{2,80})["']?[ \t]*:[ \t]*[|>][-+]?[ \t]*\n[ +-][ \t]*(\S[^\n]{3,})/g;
const NAMED_VALUE =
  /\bname["']?[ \t]{0,9}[:=][ \t]{0,9}["']?([\w-]{2,80})["',]{0,3}[ \t]{0,9}(?:\n[ +-][ \t]{0,40})?["']?value["']?[ \t]{0,9}[:=][ \t]{0,9}["']?([^\s"']{4,500})/gi;
/** Some are of digits and small letters alone, as digests are: what they stand beside tells. */
const BESIDE_LOGIN =
  /\b(?:key|login|apikey)["']?(?:[ \t]*[=:(][ \t]*|[ \t]+)["']?([\da-f]{32,64}|[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12})\b/gi;
/** Who asks, in an address; `git` and other short names are no secret. */
const IN_ADDRESS = /\b[a-z][a-z\d+.-]{1,20}:\/\/([^\s/@"'`<>]{8,500})(?=@)/gi;
const WEBHOOK = /\bdiscord(?:app)?\.com\/api\/webhooks\/\d{5,30}\/([\w-]{20,})/g;
/** `api_key: str = "…"` of Python, and the same of TypeScript and Rust. */
const TYPED = /([\w-]{2,80})\??[ \t]*:[ \t]*[\w&.|<>[\]? ]{1,60}=[ \t]*["'`]([^"'`\n]{8,500})["'`]/g;

/** Where a secret stands beside a name that says so, in ways of which there are many: on the same line, on the next one, in an address. */
export function spelledSecrets(text: string): Range[] {
  const named = [BLOCK, NAMED_VALUE, TYPED].flatMap((pattern) =>
    [...text.matchAll(pattern)].flatMap((match) =>
      SECRET_NAME.test(match[1] ?? '') ? [lastOf(match, match[2])] : [],
    ),
  );
  const plain = [BESIDE_LOGIN, IN_ADDRESS, WEBHOOK].flatMap((pattern) =>
    [...text.matchAll(pattern)].map((match) => lastOf(match, match[1])),
  );
  return [...named, ...plain, ...secretsOfLines(text)];
}

function secretsOfLines(text: string): Range[] {
  let start = 0;
  return text.split('\n').flatMap((line) => {
    const offset = start;
    start += line.length + 1;
    return secretsOfLine(line).map(([from, to]): Range => [offset + from, offset + to]);
  });
}

/** Behind the first name of a secret: what is quoted, and what stands right behind it. */
function secretsOfLine(line: string): Range[] {
  const name = [...line.matchAll(NAME)].find(([word]) => SECRET_NAME.test(word));
  if (name === undefined) return [];
  const begin = name.index + name[0].length;
  const rest = line.slice(begin);
  const bare = BARE.exec(rest);
  const found = [...rest.matchAll(QUOTED)].map((match) => lastOf(match, match[2], match[1]));
  if (bare) found.push(lastOf(bare, bare[1]));
  return found
    .filter(([from, to]) => isDrawn(rest.slice(from, to)))
    .map(([from, to]): Range => [begin + from, begin + to]);
}

/** A path, a number, and a name of code have no letter and digit. */
function isDrawn(word: string): boolean {
  return /\d/.test(word) && /[A-Za-z]/.test(word);
}

/** Of a match that ends with it, and with a quote behind it. */
function lastOf({ index, 0: whole }: RegExpExecArray, value = '', quote = ''): Range {
  const at = whole.lastIndexOf(value, whole.length - quote.length - value.length);
  return [index + at, index + at + value.length];
}
