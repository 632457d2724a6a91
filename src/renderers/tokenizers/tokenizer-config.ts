/** What `tokenizer_config.json` says, in the spellings there are of it. */
export type TokenizerConfig = Readonly<Record<string, unknown>>;

/** `"<s>"`, or an object with `content` in older configurations. */
export function tokenText(value: unknown): string | null {
  if (typeof value === 'string') return value;
  if (typeof value === 'object' && value !== null && 'content' in value) return tokenText(value.content);
  return null;
}

/** One template, or a list of named ones of which `default` counts. */
export function templateOf(value: unknown): string | null {
  if (typeof value === 'string') return value;
  if (!Array.isArray(value)) return null;
  const named: unknown = value.find((item: unknown) => isNamedTemplate(item) && item.name === 'default');
  return isNamedTemplate(named) ? named.template : null;
}

function isNamedTemplate(value: unknown): value is { name: string; template: string } {
  if (typeof value !== 'object' || value === null) return false;
  return (
    'name' in value &&
    typeof value.name === 'string' &&
    'template' in value &&
    typeof value.template === 'string'
  );
}
