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
  return Object.entries(properties).map(([name, schema]) => ({
    name,
    schema: isRecord(schema) ? schema : {},
    isRequired: names.includes(name),
  }));
}
