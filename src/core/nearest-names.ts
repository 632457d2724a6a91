/** The names most like the one asked for, most alike first: those that share the most pairs of letters. */
export function nearestNames(asked: string, names: readonly string[], count: number): string[] {
  const pairs = pairsIn(asked);
  return names
    .map((name) => ({ name, likeness: likeness(pairs, pairsIn(name)) }))
    .sort((a, b) => b.likeness - a.likeness || (a.name < b.name ? -1 : 1))
    .slice(0, count)
    .map(({ name }) => name);
}

/** Dice's coefficient. */
function likeness(a: ReadonlySet<string>, b: ReadonlySet<string>): number {
  const shared = [...a].filter((pair) => b.has(pair)).length;
  return (2 * shared) / Math.max(1, a.size + b.size);
}

function pairsIn(name: string): Set<string> {
  const text = ` ${name.toLowerCase()} `;
  return new Set(Array.from({ length: text.length - 1 }, (_, index) => text.slice(index, index + 2)));
}
