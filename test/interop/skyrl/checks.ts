import { DomainError } from '../../../src/core/errors';

export interface Check {
  readonly name: string;
  readonly ok: boolean;
  readonly detail: string;
}

const LONGEST_DETAIL = 600;

/** Runs checks in order; each may build on the ones before it. What it returns is its detail. */
export async function runChecks(
  checks: readonly (readonly [string, () => Promise<string>])[],
  onCheck: (check: Check) => void,
): Promise<Check[]> {
  const done: Check[] = [];
  for (const [name, body] of checks) {
    const check = await attempt(name, body);
    done.push(check);
    onCheck(check);
  }
  return done;
}

async function attempt(name: string, body: () => Promise<string>): Promise<Check> {
  try {
    return { name, ok: true, detail: await body() };
  } catch (error) {
    const detail = error instanceof Error ? error.message : String(error);
    return { name, ok: false, detail: detail.slice(0, LONGEST_DETAIL) };
  }
}

export function expectEqual(what: string, found: unknown, expected: unknown): void {
  if (found !== expected) throw new Error(`${what}: ${String(found)}, expected ${String(expected)}`);
}

export function expectSmall(difference: number, limit: number): string {
  if (difference <= limit) return `differs by ${difference.toExponential(1)}`;
  throw new Error(`differs by ${difference}, more than ${limit}`);
}

export async function expectRefused(code: string, body: () => Promise<unknown>): Promise<string> {
  try {
    await body();
  } catch (error) {
    if (error instanceof DomainError && error.code === code) return error.message;
    throw error;
  }
  throw new Error('it was not refused');
}
