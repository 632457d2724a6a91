import type { ToolDeclaration } from '../../core/completion';
import { jsonText } from '../../core/json-source';
import { pythonText } from '../python-text';
import { isRecord } from '../reply-blocks';
import { NO_PARAMETERS, requirePropertyNames } from '../tool-keys';
import type { Schema } from './schema-properties';
import { itemsJson, itemsPython, memberJson, memberPython, membersOf } from './schema-properties';

const INDENT = '  ';

const CONSTRAINTS = new Map<unknown, readonly string[]>([
  ['string', ['maxLength', 'minLength', 'pattern']],
  ['number', ['maximum', 'minimum']],
  ['integer', ['maximum', 'minimum']],
  ['array', ['maxItems', 'minItems']],
]);

const SIMPLE_TYPES = new Map<unknown, string>([
  ['integer', 'number'],
  ['object', '{}'],
  ['array', 'Array<any>'],
]);

/** What is written of a schema that is none of an object. */
const WRITTEN_BESIDE = ['anyOf', '$ref', 'enum'];

/** Tools as Kimi K2.5 and K2.6 declare them: TypeScript types with the descriptions as comments. */
export function declareInTypeScript(tools: readonly ToolDeclaration[]): string {
  requirePropertyNames(tools, 'kimi_k25', WRITTEN_BESIDE);
  const functions = tools.map(declareFunction).join('\n');
  return `# Tools\n\n## functions\nnamespace functions {\n${functions}\n}\n`;
}

function declareFunction({ name, description = '', parameters = NO_PARAMETERS }: ToolDeclaration): string {
  const refersToItself = jsonText(parameters).includes('"$ref":"#"');
  const own = objectType(parameters, '');
  const definitions = isRecord(parameters['$defs']) ? membersOf(parameters['$defs']) : [];
  return [
    ...(refersToItself ? [`interface parameters ${own}`] : []),
    ...definitions.map(declareInterface),
    ...(description === '' ? [] : [comment(description, '')]),
    `type ${name} = (_: ${refersToItself ? 'parameters' : own}) => any;`,
  ].join('\n');
}

function declareInterface([name, schema]: [string, unknown]): string {
  const description = isRecord(schema) ? schema['description'] : '';
  const words = typeof description === 'string' && description !== '' ? `${comment(description, '')}\n` : '';
  return `${words}interface ${name} ${typeOf(schema, '')}`;
}

function typeOf(schema: unknown, indent: string): string {
  if (!isRecord(schema)) return schema === false ? 'null' : 'any';
  if (typeof schema['$ref'] === 'string') return referenceOf(schema['$ref']);
  if (Array.isArray(schema['anyOf'])) return union(schema['anyOf'].map((one) => typeOf(one, indent)));
  if (Array.isArray(schema['enum'])) return union(itemsOf(schema));
  if (Array.isArray(schema['type'])) return union(schema['type'].map(simpleType));
  if (schema['type'] === 'object') return objectType(schema, indent);
  if (schema['type'] === 'array') return arrayType(schema, indent);
  return simpleType(schema['type']);
}

function referenceOf(reference: string): string {
  return reference === '#' ? 'parameters' : (reference.split('/').at(-1) ?? 'any');
}

function union(types: readonly string[]): string {
  return types.join(' | ');
}

function itemsOf(schema: Schema): string[] {
  const values = itemsPython(schema, 'enum');
  return itemsJson(schema, 'enum').map((json, index) => {
    const value = values[index] ?? json;
    return json.startsWith('"') ? `"${value}"` : value;
  });
}

function simpleType(type: unknown): string {
  return SIMPLE_TYPES.get(type) ?? (typeof type === 'string' ? type : 'any');
}

function arrayType(schema: Schema, indent: string): string {
  const items = isRecord(schema['items']) ? schema['items'] : {};
  const inner = indent + INDENT;
  const words = commentsOf(items, inner);
  return words === ''
    ? `Array<${typeOf(items, indent)}>`
    : `Array<\n${words}${inner}${typeOf(items, inner)}\n${indent}>`;
}

/** Required members first, each kind in alphabetical order. */
function objectType(schema: Schema, indent: string): string {
  const inner = indent + INDENT;
  const required: readonly unknown[] = Array.isArray(schema['required']) ? schema['required'] : [];
  const properties = isRecord(schema['properties']) ? Object.entries(schema['properties']) : [];
  const sorted = properties.sort(([a], [b]) => (a < b ? -1 : 1));
  const members = [
    ...sorted.filter(([name]) => required.includes(name)).map(([name, one]) => member(name, one, inner)),
    ...sorted
      .filter(([name]) => !required.includes(name))
      .map(([name, one]) => member(`${name}?`, one, inner)),
    ...others(schema['additionalProperties'], inner),
  ];
  return members.length === 0 ? '{}' : `{\n${members.join(',\n')}\n${indent}}`;
}

function others(schema: unknown, indent: string): string[] {
  if (schema === undefined || schema === null) return [];
  return [`${indent}[k: string]: ${schema === false ? 'never' : typeOf(schema, indent)}`];
}

function member(name: string, schema: unknown, indent: string): string {
  const words = isRecord(schema) ? commentsOf(schema, indent) + defaultOf(schema, indent) : '';
  return `${words}${indent}${name}: ${typeOf(schema, indent)}`;
}

function commentsOf(schema: Schema, indent: string): string {
  const { description } = schema;
  const constraints = (CONSTRAINTS.get(schema['type']) ?? [])
    .filter((name) => name in schema)
    .map((name) => `${name}: ${memberPython(schema, name)}`);
  const lines = [
    ...(typeof description === 'string' && description !== '' ? [comment(description, indent)] : []),
    ...(constraints.length > 0 ? [`${indent}// ${constraints.join(', ')}`] : []),
  ];
  return lines.map((line) => `${line}\n`).join('');
}

function defaultOf(schema: Schema, indent: string): string {
  const value = schema['default'];
  if (value === undefined || value === null) return '';
  const text = typeof value === 'boolean' ? pythonText(value) : memberJson(schema, 'default');
  return `${indent}// Default: ${text}\n`;
}

function comment(text: string, indent: string): string {
  return text
    .split('\n')
    .map((line) => (line === '' ? '' : `${indent}// ${line}`))
    .join('\n');
}
