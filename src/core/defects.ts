const DEFECTS = ['TypeError', 'RangeError', 'ReferenceError', 'SyntaxError'];

/**
 * Whether code is wrong, ours or a plug-in's: what the operating system or the network refuses passes some day, and a
 * defect does not.
 */
export function isDefect(error: unknown): error is Error {
  // Not `instanceof Error`: Node's own errors may come from another realm than this module's.
  if (typeof error !== 'object' || error === null) return false;
  if (!DEFECTS.includes(String(Reflect.get(error, 'name')))) return false;
  const code: unknown = Reflect.get(error, 'code');
  if (code !== undefined) return typeof code === 'string' && code.startsWith('ERR_');
  // `fetch` calls whatever happens on the network a TypeError, and says what it was in the cause.
  const cause: unknown = Reflect.get(error, 'cause');
  return typeof cause !== 'object' || cause === null || !('code' in cause);
}

/**
 * Whether nobody foresaw an error: one thrown without a name or a code of its own. Most are mistakes of code; some of a
 * library's pass, so it is worth more than one attempt.
 */
export function isUnforeseen(error: unknown): boolean {
  if (typeof error !== 'object' || error === null) return true;
  return Reflect.get(error, 'name') === 'Error' && !hasCode(error);
}

const DEEPEST_CAUSE = 8;

/** Of the operating system, the network, a service or the domain; also of what is behind an error. */
function hasCode(error: unknown, depth = 0): boolean {
  if (typeof error !== 'object' || error === null || depth > DEEPEST_CAUSE) return false;
  const code: unknown = Reflect.get(error, 'code');
  return (code !== undefined && code !== null) || hasCode(Reflect.get(error, 'cause'), depth + 1);
}

const MOST_STREAKS = 1000;

/** How often the same thing happened in a row, by the name of what it happened to. */
export class Streaks {
  private readonly counts = new Map<string, number>();

  /** The length of the streak with this time. The oldest streaks are forgotten where there are very many. */
  extend(name: string): number {
    const count = (this.counts.get(name) ?? 0) + 1;
    this.counts.delete(name);
    this.counts.set(name, count);
    const [oldest] = this.counts.keys();
    if (this.counts.size > MOST_STREAKS && oldest !== undefined) this.counts.delete(oldest);
    return count;
  }

  end(name: string): void {
    this.counts.delete(name);
  }
}
