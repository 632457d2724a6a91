import type { ResultIdentity, StoredResult } from '../../stores/eval-store';

/** Parts of an identity that must agree; `model` and `checkpoint` are what is compared. */
const FIXED_KEYS = ['benchmarkVersion', 'dataHash', 'promptHash', 'graderVersion'] as const;

export interface IdentityDifference {
  /** E.g. `graderVersion`, `sampling.temperature`. */
  readonly key: string;
  readonly a: string;
  readonly b: string;
}

/** What two results were made of, where it differs. Empty where either says nothing. */
export function identityDifferences(a: ResultIdentity, b: ResultIdentity): IdentityDifference[] {
  const parts = [
    ...FIXED_KEYS.map((key) => partOf(key, a[key], b[key])),
    partOf('judges', a.judges, b.judges),
    ...samplingKeys(a, b).map((key) => partOf(`sampling.${key}`, a.sampling[key], b.sampling[key])),
  ];
  return parts.filter((part) => part.a !== part.b);
}

/** Results of other tools carry no identity. */
export function hasIdentity({ identity }: StoredResult): boolean {
  return identity.dataHash !== '' || identity.graderVersion !== '';
}

function samplingKeys(a: ResultIdentity, b: ResultIdentity): string[] {
  return [...new Set([...Object.keys(a.sampling), ...Object.keys(b.sampling)])].sort();
}

function partOf(key: string, a: unknown, b: unknown): IdentityDifference {
  return { key, a: textOf(a), b: textOf(b) };
}

function textOf(value: unknown): string {
  return value === undefined || value === null ? 'not given' : JSON.stringify(value);
}
