import { jsonText } from '../../core/json-source';
import { listItems, memberText, objectMembers, respaceJson } from '../json-text';
import { pythonText } from '../python-text';
import { isRecord } from '../reply-blocks';

export type Schema = Readonly<Record<string, unknown>>;

interface Property {
  readonly name: string;
  readonly schema: Schema;
  readonly isRequired: boolean;
}

/** Fields of an object as its JSON schema declares them, in their order. */
export function propertiesOf({ properties, required }: Schema): Property[] {
  if (!isRecord(properties)) return [];
  const names: readonly unknown[] = Array.isArray(required) ? required : [];
  return membersOf(properties).map(([name, schema]) => ({
    name,
    schema: isRecord(schema) ? schema : {},
    isRequired: names.includes(name),
  }));
}

/** Names and values in the order written, which objects of this language change for names that are numbers. */
export function membersOf(object: Schema): [name: string, value: unknown][] {
  const names = new Set(objectMembers(jsonText(object)).map(({ name }) => name));
  return [...names].map((name) => [name, object[name]]);
}

/** JSON text of a member, its numbers spelled as they were written. */
export function memberJson(object: Schema, name: string): string {
  return respaceJson(memberText(jsonText(object), name) ?? 'null');
}

/** As Python's `str` writes a member, its numbers spelled as they were written. */
export function memberPython(object: Schema, name: string): string {
  const value = object[name];
  return typeof value === 'number' ? memberJson(object, name) : pythonText(value);
}

/** The items of a member that is a list, as Python's `str` writes each. */
export function itemsPython(object: Schema, name: string): string[] {
  return itemsJson(object, name).map((json) => (isNumber(json) ? json : pythonText(JSON.parse(json))));
}

/** JSON text of each item of a member that is a list. */
export function itemsJson(object: Schema, name: string): string[] {
  return listItems(memberJson(object, name));
}

function isNumber(json: string): boolean {
  return /^[-\d]/.test(json);
}
