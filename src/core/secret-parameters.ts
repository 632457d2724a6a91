/**
 * Names of query parameters that hold a key, however their words are divided: `api-key`, `apiKey`, `access_token`,
 * `subscription-key`, `sig`, Azure's `code`.
 */
const SECRET_WORD =
  /^(?:key|code|sig|signature|auth|authorization|token|secret|password|passwd|pwd|credentials?)$/;
const SECRET_END = /(?:apikey|accesskey|secretkey|token|secret|password)$/;

/** The first parameter in the query of an address whose name says that it is a secret; null where there is none, or no address. */
export function secretParameterOf(address: string): string | null {
  if (!URL.canParse(address)) return null;
  return [...new URL(address).searchParams.keys()].find(isSecretParameter) ?? null;
}

function isSecretParameter(name: string): boolean {
  const words = name
    .replaceAll(/([a-z])(?=[A-Z])/g, '$1-')
    .toLowerCase()
    .split(/[^a-z0-9]+/);
  return SECRET_WORD.test(words.at(-1) ?? '') || SECRET_END.test(words.join(''));
}
