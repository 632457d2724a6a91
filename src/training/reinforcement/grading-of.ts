import { ownValue } from '../../core/own-value';
/** Of built-in environments: where rows lie, and what their fields are called there. */
const STORED_AT: Readonly<Record<string, readonly string[]>> = {
  math: ['path'],
  code: ['path'],
  search: ['questions'],
  modelGraded: ['dataset.path', 'dataset.testPath', 'dataset.fields'],
  comparison: ['dataset.path', 'dataset.testPath', 'dataset.fields'],
};

/** What of an environment decides how an answer is scored: the same rows in another file are graded the same. */
export function gradingOf(environment: unknown): unknown {
  if (!isRecord(environment)) return environment;
  const { type, parts } = environment;
  if (type === 'mixture' && Array.isArray(parts)) return { ...environment, parts: parts.map(partOf) };
  const keys = (typeof type === 'string' ? ownValue(STORED_AT, type) : undefined) ?? [];
  return keys.reduce(withoutKey, environment);
}

function partOf(part: unknown): unknown {
  return isRecord(part) ? { ...part, environment: gradingOf(part['environment']) } : part;
}

function withoutKey(record: Readonly<Record<string, unknown>>, dotted: string): Record<string, unknown> {
  const [key = '', inner] = dotted.split('.');
  const value = record[key];
  const rest = Object.fromEntries(Object.entries(record).filter(([each]) => each !== key));
  if (inner === undefined) return rest;
  return isRecord(value) ? { ...rest, [key]: withoutKey(value, inner) } : record;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
