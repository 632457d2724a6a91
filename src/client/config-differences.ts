/** A value of two configs, by its place: `evaluators.0.type`. */
export interface ConfigDifference {
  readonly key: string;
  /** As JSON; null where that config does not give it. */
  readonly a: string | null;
  readonly b: string | null;
}

const LONGEST_VALUE = 60;

/** What differs between two configs, by the names of their fields in order. */
export function configDifferences(a: object, b: object): ConfigDifference[] {
  const [before, now] = [new Map(valuesIn(a)), new Map(valuesIn(b))];
  const keys = [...new Set([...before.keys(), ...now.keys()])].sort();
  return keys
    .filter((key) => before.get(key) !== now.get(key))
    .map((key) => ({ key, a: before.get(key) ?? null, b: now.get(key) ?? null }));
}

/** As a person reads it. */
export function configValueText(value: string | null): string {
  if (value === null) return 'not given';
  return value.length <= LONGEST_VALUE ? value : `${value.slice(0, LONGEST_VALUE)}…`;
}

/** Every value of a config as JSON. */
function valuesIn(value: object, place = ''): [string, string][] {
  return Object.entries(value).flatMap(([key, inner]: [string, unknown]): [string, string][] => {
    if (inner === undefined) return [];
    const at = place === '' ? key : `${place}.${key}`;
    const isInner = typeof inner === 'object' && inner !== null && Object.keys(inner).length > 0;
    return isInner ? valuesIn(inner, at) : [[at, JSON.stringify(inner)]];
  });
}
