/**
 * Similarity of two texts as Python's `difflib.SequenceMatcher(None, a, b).ratio()`, which `fuzzywuzzy` rounds to percent:
 * twice the characters in matching blocks over all characters. In a second text of 200 characters or more, characters that
 * make up over 1 % of it begin no block.
 */
interface Matcher {
  readonly left: readonly string[];
  readonly right: readonly string[];
  readonly places: ReadonlyMap<string, readonly number[]>;
}

interface Window {
  readonly leftFrom: number;
  readonly leftTo: number;
  readonly rightFrom: number;
  readonly rightTo: number;
}

interface MatchingBlock {
  readonly left: number;
  readonly right: number;
  readonly size: number;
}

/** A line longer than this is compared by its beginning; its whole length counts in the ratio. */
const MATCH_LIMIT = 5000;

/** 0…1 in steps of 0.01. */
export function fuzzyRatio(left: string, right: string): number {
  if (left === right) return 1;
  if (left === '' || right === '') return 0;
  const total = Array.from(left).length + Array.from(right).length;
  const matcher = createMatcher(
    Array.from(left).slice(0, MATCH_LIMIT),
    Array.from(right).slice(0, MATCH_LIMIT),
  );
  return roundHalfEven((200 * countMatching(matcher)) / total) / 100;
}

function createMatcher(left: readonly string[], right: readonly string[]): Matcher {
  const places = new Map<string, number[]>();
  for (const [index, character] of right.entries()) {
    const known = places.get(character);
    if (known) known.push(index);
    else places.set(character, [index]);
  }
  if (right.length >= 200) {
    const limit = Math.floor(right.length / 100) + 1;
    for (const [character, indices] of places) if (indices.length > limit) places.delete(character);
  }
  return { left, right, places };
}

function countMatching(matcher: Matcher): number {
  const waiting: Window[] = [
    { leftFrom: 0, leftTo: matcher.left.length, rightFrom: 0, rightTo: matcher.right.length },
  ];
  let count = 0;
  for (let window = waiting.pop(); window; window = waiting.pop()) {
    const { left, right, size } = longestBlock(matcher, window);
    if (size === 0) continue;
    count += size;
    const { leftFrom, leftTo, rightFrom, rightTo } = window;
    if (leftFrom < left && rightFrom < right)
      waiting.push({ leftFrom, leftTo: left, rightFrom, rightTo: right });
    if (left + size < leftTo && right + size < rightTo) {
      waiting.push({ leftFrom: left + size, leftTo, rightFrom: right + size, rightTo });
    }
  }
  return count;
}

function longestBlock(matcher: Matcher, window: Window): MatchingBlock {
  let best: MatchingBlock = { left: window.leftFrom, right: window.rightFrom, size: 0 };
  let lengths = new Map<number, number>();
  for (let left = window.leftFrom; left < window.leftTo; left++) {
    const next = new Map<number, number>();
    for (const right of matcher.places.get(matcher.left[left] ?? '') ?? []) {
      if (right < window.rightFrom || right >= window.rightTo) continue;
      const size = (lengths.get(right - 1) ?? 0) + 1;
      next.set(right, size);
      if (size > best.size) best = { left: left - size + 1, right: right - size + 1, size };
    }
    lengths = next;
  }
  return extend(matcher, window, best);
}

/** Over frequent characters on both sides, which begin no block of their own. */
function extend({ left, right }: Matcher, window: Window, block: MatchingBlock): MatchingBlock {
  let { left: l, right: r, size } = block;
  while (l > window.leftFrom && r > window.rightFrom && left[l - 1] === right[r - 1]) {
    l--;
    r--;
    size++;
  }
  while (l + size < window.leftTo && r + size < window.rightTo && left[l + size] === right[r + size]) size++;
  return { left: l, right: r, size };
}

function roundHalfEven(value: number): number {
  const floor = Math.floor(value);
  if (value - floor !== 0.5) return Math.round(value);
  return floor % 2 === 0 ? floor : floor + 1;
}
