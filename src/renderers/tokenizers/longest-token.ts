import { isRecord } from '../reply-blocks';

type Fields = Readonly<Record<string, unknown>>;

/** `tokenizer.json` and `tokenizer_config.json`. */
interface TokenizerDefinition {
  readonly definition: Fields;
  readonly config: Fields;
}

/**
 * Composing characters (NFC) makes at most four UTF-16 units one (UAX #15, table of worst cases), and a character outside the
 * basic plane may stand for one inside.
 */
const COMPOSED = 8;

/**
 * The most UTF-16 units of a text that one token of a `tokenizer.json` stands for; null where it cannot be told for certain, as where
 * text is dropped or any text may become one unknown word. A text of n units has at least n divided by it tokens.
 */
export function longestTokenOf({ definition, config }: TokenizerDefinition): number | null {
  const { model, added_tokens: added = [] } = definition;
  if (!isRecord(model) || !isRecord(model['vocab']) || !Array.isArray(added)) return null;
  const composed = composing(definition['normalizer']);
  if (composed === null || !keepsText(definition, config) || !knowsEveryByte(definition, model)) return null;
  const words = added.map((token: unknown) => wordOf(token));
  if (words.includes(null)) return null;
  const lengths = [...Object.keys(model['vocab']), ...words].map((word) => word?.length ?? 0);
  return composed * lengths.reduce((longest, length) => Math.max(longest, length), 1);
}

/** Then there are no unknown words. */
function knowsEveryByte(definition: Fields, model: Fields): boolean {
  const isOfBytes = stepsOf(definition['pre_tokenizer']).some(({ type }) => type === 'ByteLevel');
  return model['type'] === 'BPE' && (isOfBytes || model['byte_fallback'] === true);
}

/** Of one that takes no white space around it away; else null. */
function wordOf(token: unknown): string | null {
  if (!isRecord(token) || isSet(token['lstrip']) || isSet(token['rstrip'])) return null;
  return typeof token['content'] === 'string' ? token['content'] : null;
}

/** How many units of a text become one at most; null where it may be any number. */
function composing(normalizer: unknown): number | null {
  return stepsOf(normalizer).reduce<number | null>((units, step) => {
    const own = composedBy(step);
    return units === null || own === null ? null : units * own;
  }, 1);
}

function composedBy({ type, pattern, content }: Fields): number | null {
  if (type === 'NFC') return COMPOSED;
  if (type === 'Prepend') return 1;
  const text = type === 'Replace' && isRecord(pattern) ? pattern['String'] : null;
  return typeof text === 'string' && typeof content === 'string' && content.length >= text.length ? 1 : null;
}

function keepsText({ pre_tokenizer: splitter, truncation }: Fields, config: Fields): boolean {
  const leftOut = [truncation, config['remove_space'], config['do_lowercase_and_remove_accent']];
  if (leftOut.some(isSet)) return false;
  return stepsOf(splitter).every(({ type, behavior, invert }) => {
    if (type !== 'Split') return ['ByteLevel', 'Digits', 'Metaspace'].includes(String(type));
    return !isSet(invert) && String(behavior).toLowerCase() !== 'removed';
  });
}

/** The parts of a normalizer or a splitter, those of a sequence one after another. */
function stepsOf(part: unknown): readonly Fields[] {
  if (!isRecord(part)) return [];
  if (part['type'] !== 'Sequence') return [part];
  const parts = part['normalizers'] ?? part['pretokenizers'];
  return Array.isArray(parts) ? parts.flatMap(stepsOf) : [];
}

function isSet(value: unknown): boolean {
  return value !== undefined && value !== null && value !== false;
}
