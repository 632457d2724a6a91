import type { ToolDeclaration } from '../../core/completion';
import { isRecord } from '../reply-blocks';
import { NO_PARAMETERS } from '../tool-keys';
import type { Schema } from './schema-properties';
import { itemsPython, memberJson, propertiesOf } from './schema-properties';

/** As long as the template lets the type of an array's items be. */
const LONGEST_ITEM = 50;

/** Line breaks and indentation that the template's own layout leaves between a member and its type, and elsewhere. */
const MEMBER_GAP = `\n${' '.repeat(16)}`;
const DEFAULT_GAP = ' '.repeat(20);

/**
 * Tools as gpt-oss's chat template declares them, to the character: functions in a TypeScript namespace. Types it has no word
 * for are `any`.
 */
export function declareHarmonyTools(tools: readonly ToolDeclaration[]): string {
  const functions = tools.map(declareFunction).join('');
  return `# Tools\n\n## functions\n\nnamespace functions {\n\n${functions}} // namespace functions`;
}

function declareFunction({ name, description = '', parameters = NO_PARAMETERS }: ToolDeclaration): string {
  return `// ${description}\ntype ${name} = ${parameterBlock(parameters)} => any;\n\n`;
}

function parameterBlock(schema: Schema): string {
  const parameters = propertiesOf(schema).map(({ name, schema: property, isRequired }) => {
    const description = textOf(property['description']);
    const comment = description === '' ? '' : `// ${description}\n`;
    return `${comment}${name}${isRequired ? '' : '?'}: ${typeOf(property)}${fallbackOf(property)},\n`;
  });
  return parameters.length === 0 ? '()' : `(_: {\n${parameters.join('')}})`;
}

function fallbackOf(schema: Schema): string {
  if (!('default' in schema)) return '';
  const [value, text] = [schema['default'], memberJson(schema, 'default')];
  const bare = typeof value === 'string' ? value : text;
  if (isFilled(schema['enum'])) return `, // default: ${bare}`;
  return isFilled(schema['oneOf']) ? `// default: ${bare}` : `, // default: ${text}`;
}

function typeOf(schema: Schema): string {
  const { type, oneOf } = schema;
  if (type === 'array') return arrayType(schema);
  if (isFilled(type)) return type.map(String).join(' | ');
  if (isFilled(oneOf)) return alternatives(oneOf.map((one) => (isRecord(one) ? one : {})));
  return simpleType(schema);
}

function simpleType(schema: Schema): string {
  switch (schema['type']) {
    case 'string':
      return stringType(schema);
    case 'number':
    case 'integer':
      return 'number';
    case 'boolean':
      return 'boolean';
    case 'object':
      return objectType(schema);
    default:
      return 'any';
  }
}

function stringType(schema: Schema): string {
  const { enum: values } = schema;
  return isFilled(values) ? `"${itemsPython(schema, 'enum').join('" | "')}"` : `string${orNull(schema)}`;
}

function arrayType(schema: Schema): string {
  const { items } = schema;
  if (!isRecord(items) || Object.keys(items).length === 0) return `any[]${orNull(schema)}`;
  const isPlain = ['string', 'number', 'integer', 'boolean'].includes(textOf(items['type']));
  const inner = isPlain ? simpleType({ type: items['type'] }) : typeOf(items);
  const isLong = inner === 'object | object' || Array.from(inner).length > LONGEST_ITEM;
  return `${isLong ? 'any' : inner}[]${orNull(schema)}`;
}

function alternatives(schemas: readonly Schema[]): string {
  if (schemas.length > 1 && schemas.some(({ type }) => type === 'object')) return 'any';
  return schemas
    .map((schema) => {
      const description = textOf(schema['description']);
      const fallback =
        'default' in schema ? `${DEFAULT_GAP}// default: ${memberJson(schema, 'default')}` : '';
      return `${typeOf(schema)}${description === '' ? '' : `// ${description}`}${fallback}`;
    })
    .join(' | \n');
}

function objectType(schema: Schema): string {
  const members = propertiesOf(schema).map(
    ({ name, schema: member, isRequired }) =>
      `${name}${isRequired ? '' : '?'}: ${MEMBER_GAP}${typeOf(member)}`,
  );
  return members.length === 0 ? 'object' : `{\n${members.join(', ')}}`;
}

function orNull({ nullable }: Schema): string {
  return nullable === true ? ' | null' : '';
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

function isFilled(value: unknown): value is readonly unknown[] {
  return Array.isArray(value) && value.length > 0;
}
