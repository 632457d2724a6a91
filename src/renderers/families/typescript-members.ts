import { isRecord } from '../reply-blocks';
import type { Schema } from './schema-properties';
import { itemsJson, propertiesOf } from './schema-properties';

/** Fields of an object with their types, `city: string, days?: number`. */
export function typeScriptMembers(schema: Schema): string {
  return propertiesOf(schema)
    .map(({ name, schema: property, isRequired }) => `${name}${isRequired ? '' : '?'}: ${typeOf(property)}`)
    .join(', ');
}

function typeOf(schema: unknown): string {
  if (!isRecord(schema)) return 'any';
  const alternatives = schema['oneOf'] ?? schema['anyOf'];
  if (Array.isArray(alternatives)) return alternatives.map(typeOf).join(' | ');
  const { type } = schema;
  if (Array.isArray(type)) return type.map((one: unknown) => typeOf({ type: one })).join(' | ');
  if (type === 'string' && Array.isArray(schema['enum'])) return itemsJson(schema, 'enum').join(' | ');
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
