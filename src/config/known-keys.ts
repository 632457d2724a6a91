import { z } from 'zod';

type Path = readonly PropertyKey[];
type Schema = z.core.JSONSchema.BaseSchema;

/**
 * Keys a schema takes at a place of a config.
 *
 * The schema is walked along the value, so that of a union the form is taken whose `type` or `kind` the value has.
 */
export function knownKeysAt(schema: z.ZodType, value: unknown, path: Path): string[] {
  const forms = formsAt(schema, value, path);
  return [...new Set(forms.flatMap((form) => Object.keys(form.properties ?? {})))];
}

/** Whether a place of a config takes whole numbers alone. */
export function isWholeNumberAt(schema: z.ZodType, value: unknown, path: Path): boolean {
  const types = formsAt(schema, value, path).map(({ type }) => type);
  return types.includes('integer') && !types.includes('number');
}

function formsAt(schema: z.ZodType, value: unknown, path: Path): Schema[] {
  let forms = formsFor(jsonSchemaOf(schema), value);
  let inner = value;
  for (const part of path) {
    inner = typeof inner === 'object' && inner !== null ? Reflect.get(inner, part) : undefined;
    forms = forms.flatMap((form) => descend(form, part)).flatMap((form) => formsFor(form, inner));
  }
  return forms;
}

/** Describing a schema takes ten milliseconds, and a config may have hundreds of things wrong. */
const described = new WeakMap<z.ZodType, Schema>();

function jsonSchemaOf(schema: z.ZodType): Schema {
  const known = described.get(schema);
  if (known) return known;
  const description: Schema = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' });
  described.set(schema, description);
  return description;
}

function descend(form: Schema, part: PropertyKey): Schema[] {
  const next =
    typeof part === 'number' ? form.items : (form.properties?.[String(part)] ?? form.additionalProperties);
  return isSchema(next) ? [next] : [];
}

function formsFor(schema: Schema, value: unknown): Schema[] {
  const forms = [...(schema.anyOf ?? []), ...(schema.oneOf ?? [])].filter(isSchema);
  if (forms.length === 0) return [schema];
  const inner = forms.flatMap((form) => formsFor(form, value));
  const matching = inner.filter((form) => hasType(form, value));
  return matching.length > 0 ? matching : inner;
}

function hasType(form: Schema, value: unknown): boolean {
  const type = form.properties?.['type'];
  if (!isSchema(type) || type.const === undefined) return false;
  return typeof value === 'object' && value !== null && Reflect.get(value, 'type') === type.const;
}

function isSchema(value: unknown): value is Schema {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
