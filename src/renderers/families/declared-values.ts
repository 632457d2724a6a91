import type { ToolDeclaration } from '../../core/completion';
import { respaceJson } from '../json-text';
import { isRecord, parseJson } from '../reply-blocks';

/** Python's spellings, which some models write, and JSON's. */
const LITERALS = new Map([
  ['True', 'true'],
  ['False', 'false'],
  ['None', 'null'],
]);

/**
 * JSON text of a value that stands bare in a reply. What the tool declares decides between a text and what looks like
 * something else; without a declaration, what is JSON or one of Python's literals is taken for it.
 */
export function declaredValue(text: string, types: ReadonlySet<string> | null): string {
  const json = LITERALS.get(text) ?? text;
  const parsed = parseJson(json);
  const isText = 'reason' in parsed || (types !== null && !isOfType(parsed.value, types));
  if (!isText) return respaceJson(json);
  const lower = text.toLowerCase();
  if (types?.has('boolean') && (lower === 'true' || lower === 'false')) return lower;
  return JSON.stringify(text);
}

function isOfType(value: unknown, types: ReadonlySet<string>): boolean {
  if (typeof value === 'number') {
    return types.has('number') || (types.has('integer') && Number.isInteger(value));
  }
  return types.has(typeOf(value));
}

function typeOf(value: unknown): string {
  if (value === null) return 'null';
  // A text in quotes is bare text that has quotes.
  if (typeof value === 'string') return 'quoted text';
  return Array.isArray(value) ? 'array' : typeof value;
}

/** The types a tool declares for one of its parameters; null where it declares none. */
export function declaredTypes(
  tools: readonly ToolDeclaration[],
  tool: string,
  parameter: string,
): ReadonlySet<string> | null {
  const properties = tools.find(({ name }) => name === tool)?.parameters?.['properties'];
  const schema = isRecord(properties) ? properties[parameter] : undefined;
  const types = typesOf(schema);
  return types.length === 0 ? null : new Set(types);
}

function typesOf(schema: unknown): string[] {
  if (!isRecord(schema)) return [];
  const { type, enum: values } = schema;
  const named: readonly unknown[] = Array.isArray(type) ? type : [type];
  const alternatives = [schema['anyOf'], schema['oneOf'], schema['allOf']].flatMap((list) =>
    Array.isArray(list) ? list.flatMap(typesOf) : [],
  );
  const found = [
    ...named.filter((one) => typeof one === 'string'),
    ...alternatives,
    ...(schema['nullable'] === true ? ['null'] : []),
  ];
  if (found.length > 0 || !Array.isArray(values)) return found;
  return values.map((value: unknown) => (typeof value === 'string' ? 'string' : typeOf(value)));
}
