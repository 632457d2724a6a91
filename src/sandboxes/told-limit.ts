import type { SandboxLimit } from './sandbox';

const TAIL_LENGTH = 4000;

/** How programs say that the system refused them something, on their last lines. */
const SAYINGS: readonly (readonly [SandboxLimit, RegExp])[] = [
  ['memory', /\bMemoryError\b|bad_alloc|Cannot allocate memory|out of memory/i],
  ['disk', /File too large|No space left on device|\[Errno (?:27|28|51)\]/],
  ['processes', /Resource temporarily unavailable|can't start new thread|BlockingIOError/],
];

/** The limit that made a failed program end by itself, as far as its last words tell. */
export function toldLimit(exitCode: number, stderr: string): SandboxLimit | null {
  if (exitCode === 0) return null;
  const lastWords = stderr.slice(-TAIL_LENGTH).trimEnd().split('\n').at(-1) ?? '';
  return SAYINGS.find(([, saying]) => saying.test(lastWords))?.[0] ?? null;
}
