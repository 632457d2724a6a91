/**
 * Last words of names that hold a key, however their words are divided: `access_token`, `sig`, Azure's `code`. `key` is one, too, unless
 * the word before it says otherwise: `api-key`, `apiKey`, `subscription-key`.
 */
const SECRET_WORD =
  /^(?:code|sig|signature|auth|authorization|token|secret|password|passwd|passphrase|pwd|credentials?)$/;
/** Names that are one as a whole: as the last of several words they mean something else. */
const SECRET_NAME = /^(?:pass|access|subscription)$/;
const SECRET_END = /(?:apikey|accesskey|secretkey|subscriptionkey|token|secret|password)$/;
/** Before `key` they say what is looked up or sorted by. */
const HARMLESS_KEYS = /^(?:cache|partition|sort|sorting|routing|group|primary|foreign|public)$/;

/** What keys of services begin with; a word of small letters alone (`sk-learn`) is none. */
const KEY_BEGINNING =
  /(?<![A-Za-z\d])(?:sk-|tml-|hf_|gh[oprsu]_|github_pat_|glpat-|xox[abps]-|gsk_|nvapi-|xai-|pplx-|AIza|A[KS]IA|eyJ)(?=[\w-]*[A-Z\d])[\w-]{8,}/;

const NAMELESS = 'without a name';

/**
 * The first parameter in the query or the fragment of an address that holds a secret, by its name or by the shape of its value; null
 * where there is none, or no address. A key that stands without a name is not repeated.
 */
export function secretParameterOf(address: string): string | null {
  if (!URL.canParse(address)) return null;
  const { searchParams, hash } = new URL(address);
  // Without a value it is a place in a page.
  const inFragment = [...new URLSearchParams(hash.slice(1))].map(([name, value]) => ({
    ...{ name, value },
    isNamed: value !== '',
  }));
  const inQuery = [...searchParams].map(([name, value]) => ({ name, value, isNamed: true }));
  const found = [...inQuery, ...inFragment].find(
    ({ name, value, isNamed }) => holdsKey(name) || holdsKey(value) || (isNamed && isSecretName(name)),
  );
  if (!found) return null;
  return holdsKey(found.name) ? NAMELESS : found.name;
}

function holdsKey(text: string): boolean {
  return KEY_BEGINNING.test(text);
}

function isSecretName(name: string): boolean {
  const words = name
    .replaceAll(/([a-z])(?=[A-Z])/g, '$1-')
    .toLowerCase()
    .split(/[^a-z0-9]+/);
  const [last = '', before = ''] = words.toReversed();
  if (last === 'key') return !HARMLESS_KEYS.test(before);
  return SECRET_WORD.test(last) || [SECRET_NAME, SECRET_END].some((names) => names.test(words.join('')));
}
