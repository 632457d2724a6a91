import { isWrittenAsFloat } from '../../../core/whole-floats';

/**
 * JSON as Python's `json.dumps` writes it: ASCII alone, floats as floats, and with blanks behind its marks where it stands on one line.
 * `indent` is that of a level; null writes one line.
 */
export function pythonJson(value: unknown, indent: number | null): string {
  return entryText(value, { indent, depth: 0, isFloat: false });
}

interface Position {
  readonly indent: number | null;
  readonly depth: number;
  readonly isFloat: boolean;
}

function entryText(value: unknown, position: Position): string {
  if (typeof value === 'number') return position.isFloat ? `${value}.0` : String(value);
  if (typeof value !== 'object' || value === null) return ascii(JSON.stringify(value));
  const isList = Array.isArray(value);
  const parts = Object.entries(value).map(([key, each]) => {
    const inner = { ...position, depth: position.depth + 1, isFloat: isWrittenAsFloat(value, key) };
    return `${isList ? '' : `${ascii(JSON.stringify(key))}: `}${entryText(each, inner)}`;
  });
  const [open, close] = isList ? ['[', ']'] : ['{', '}'];
  return parts.length === 0 ? open + close : open + spread(parts, position) + close;
}

function spread(parts: readonly string[], { indent, depth }: Position): string {
  if (indent === null) return parts.join(', ');
  const [inner, outer] = [depth + 1, depth].map((level) => `\n${' '.repeat(level * indent)}`);
  return `${inner}${parts.join(`,${inner}`)}${outer}`;
}

function ascii(text: string): string {
  return text.replaceAll(
    /[\u007f-\uffff]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}
