import type { ToolDeclaration } from '../../core/completion';
import { jsonText } from '../../core/json-source';
import { respaceJson } from '../json-text';
import { isRecord } from '../reply-blocks';

type Schema = Readonly<Record<string, unknown>>;

/** Tools as Harmony declares them: functions in a TypeScript namespace. */
export function declareHarmonyTools(tools: readonly ToolDeclaration[]): string {
  const functions = tools.map(declareFunction).join('\n\n');
  return `# Tools\n\n## functions\n\nnamespace functions {\n\n${functions}\n\n} // namespace functions`;
}

function declareFunction({ name, description, parameters }: ToolDeclaration): string {
  const comment = description === '' ? '' : `// ${description}\n`;
  return `${comment}type ${name} = ${parameterBlock(parameters)} => any;`;
}

function parameterBlock(schema: Schema): string {
  const properties = propertiesOf(schema);
  if (schema['type'] !== 'object' || properties.length === 0) return '()';
  const description = typeof schema['description'] === 'string' ? ` // ${schema['description']}` : '';
  const lines = properties.flatMap(({ name, schema: property, isRequired }) => {
    const fallback = 'default' in property ? ` // default: ${json(property['default'])}` : '';
    return [
      ...commentsOf(property).map((comment) => `// ${comment}`),
      `${name}${isRequired ? '' : '?'}: ${typeOf(property)},${fallback}`,
    ];
  });
  return [`(_:${description}`, '{', ...lines, '})'].join('\n');
}

function commentsOf({ title, description, examples }: Schema): string[] {
  return [
    ...(typeof title === 'string' && title !== '' ? [title, ''] : []),
    ...(typeof description === 'string' && description !== '' ? [description] : []),
    ...(Array.isArray(examples) && examples.length > 0
      ? ['Examples:', ...examples.map((example: unknown) => `- ${json(example)}`)]
      : []),
  ];
}

function typeOf(schema: unknown): string {
  if (!isRecord(schema)) return 'any';
  const alternatives = schema['oneOf'] ?? schema['anyOf'];
  if (Array.isArray(alternatives)) return alternatives.map(typeOf).join(' | ');
  const { type } = schema;
  if (Array.isArray(type)) return type.map((one: unknown) => typeOf({ type: one })).join(' | ');
  if (type === 'string' && Array.isArray(schema['enum'])) return schema['enum'].map(json).join(' | ');
  return simpleType(type, schema) + (schema['nullable'] === true ? ' | null' : '');
}

function simpleType(type: unknown, schema: Schema): string {
  switch (type) {
    case 'string':
    case 'boolean':
    case 'null':
      return type;
    case 'number':
    case 'integer':
      return 'number';
    case 'array':
      return `${typeOf(schema['items'] ?? {})}[]`;
    case 'object':
      return objectType(schema);
    default:
      return 'any';
  }
}

function objectType(schema: Schema): string {
  return `{ ${typeScriptMembers(schema)} }`;
}

/** Fields of an object with their types, `city: string, days?: number`. */
export function typeScriptMembers(schema: Schema): string {
  return propertiesOf(schema)
    .map(({ name, schema: property, isRequired }) => `${name}${isRequired ? '' : '?'}: ${typeOf(property)}`)
    .join(', ');
}

interface Property {
  readonly name: string;
  readonly schema: Schema;
  readonly isRequired: boolean;
}

function propertiesOf({ properties, required }: Schema): Property[] {
  if (!isRecord(properties)) return [];
  const names: readonly unknown[] = Array.isArray(required) ? required : [];
  return Object.entries(properties).map(([name, schema]) => ({
    name,
    schema: isRecord(schema) ? schema : {},
    isRequired: names.includes(name),
  }));
}

function json(value: unknown): string {
  return respaceJson(jsonText(value));
}
