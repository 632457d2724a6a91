/** What a joined signal is made of, for as long as somebody has it. */
const sources = new WeakMap<AbortSignal, readonly AbortSignal[]>();

/**
 * `AbortSignal.any`, which alone keeps no hold of what it is made of: a time limit that nobody else holds is collected with the
 * garbage, and never ends anything (Node 20, of `AbortSignal.any([signal, AbortSignal.timeout(ms)])`).
 */
export function anySignal(signals: readonly AbortSignal[]): AbortSignal {
  const joined = AbortSignal.any([...signals]);
  sources.set(joined, signals);
  return joined;
}
