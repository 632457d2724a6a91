import { ProtocolError } from './protocol-error';

const DEEPEST = 64;

/** Refuses with 422 what is nested too deep to be walked by recursion: digests, JSON and checks all do. */
export function checkDepth(body: unknown): void {
  if (isDeeperThan(body, DEEPEST)) {
    throw new ProtocolError(
      422,
      `Invalid request: lists and objects lie more than ${DEEPEST} deep in one another. Flatten the body.`,
    );
  }
}

function isDeeperThan(value: unknown, depth: number): boolean {
  if (typeof value !== 'object' || value === null || ArrayBuffer.isView(value)) return false;
  if (depth === 0) return true;
  const entries: readonly unknown[] = Array.isArray(value) ? value : Object.values(value);
  return entries.some((entry) => isDeeperThan(entry, depth - 1));
}
