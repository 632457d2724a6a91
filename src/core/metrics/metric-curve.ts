/** A metric of a run over its steps, ascending. */
export interface CurvePoint {
  readonly step: number;
  readonly value: number;
}

/** How much a run has read by a step. */
export interface TokensAtStep {
  readonly step: number;
  /** Since the run began. */
  readonly tokens: number;
}

/** Two runs at the same place; `difference` is A − B. */
export interface CommonPoint {
  readonly step: number;
  readonly a: number;
  readonly b: number;
  readonly difference: number;
}

/** Two runs after reading as many tokens: each at its last step until then. */
export interface PointAtTokens {
  readonly tokens: number;
  readonly a: CurvePoint;
  readonly b: CurvePoint;
  readonly difference: number;
}

/** Metrics that say by their name which way is better; null where that depends, as of a reinforcement loss. */
export function isHigherBetter(metric: string): boolean | null {
  if (/(^|\/)(nll|bpb)$/.test(metric)) return false;
  if (/^env\/.+\/(reward\/[^/]+|correct|format)$/.test(metric)) return true;
  return null;
}

/** null where it is empty, or nobody knows which way is better. The first of equal ones. */
export function bestPoint(curve: readonly CurvePoint[], higherIsBetter: boolean | null): CurvePoint | null {
  if (higherIsBetter === null) return null;
  return curve.reduce<CurvePoint | null>((best, point) => {
    if (best === null) return point;
    const isBetter = higherIsBetter ? point.value > best.value : point.value < best.value;
    return isBetter ? point : best;
  }, null);
}

/** At most so many of the steps that both have, evenly spread, the first and the last among them. */
export function commonPoints(
  a: readonly CurvePoint[],
  b: readonly CurvePoint[],
  most: number,
): CommonPoint[] {
  const others = new Map(b.map(({ step, value }) => [step, value]));
  const common = a.flatMap(({ step, value }) => {
    const other = others.get(step);
    return other === undefined ? [] : [{ step, a: value, b: other, difference: value - other }];
  });
  if (common.length <= most) return common;
  if (most === 1) return common.slice(-1);
  const chosen = Array.from({ length: most }, (_, index) =>
    Math.round((index * (common.length - 1)) / (most - 1)),
  );
  return chosen.flatMap((index) => common[index] ?? []);
}

/** Both as far as the one that read less. null where that is no step of either, or they read the same step by step. */
export function pointAtTokens(
  a: { readonly curve: readonly CurvePoint[]; readonly tokens: readonly TokensAtStep[] },
  b: { readonly curve: readonly CurvePoint[]; readonly tokens: readonly TokensAtStep[] },
): PointAtTokens | null {
  const [lastA, lastB] = [a.tokens.at(-1), b.tokens.at(-1)];
  if (!lastA || !lastB || readTheSame(a.tokens, b.tokens)) return null;
  const tokens = Math.min(lastA.tokens, lastB.tokens);
  const [pointA, pointB] = [lastUntil(a, tokens), lastUntil(b, tokens)];
  if (!pointA || !pointB) return null;
  return { tokens, a: pointA, b: pointB, difference: pointA.value - pointB.value };
}

function readTheSame(a: readonly TokensAtStep[], b: readonly TokensAtStep[]): boolean {
  const others = new Map(b.map(({ step, tokens }) => [step, tokens]));
  return a.every(({ step, tokens }) => (others.get(step) ?? tokens) === tokens);
}

function lastUntil(
  { curve, tokens }: { readonly curve: readonly CurvePoint[]; readonly tokens: readonly TokensAtStep[] },
  limit: number,
): CurvePoint | undefined {
  const step = tokens.findLast((row) => row.tokens <= limit)?.step ?? 0;
  return curve.findLast((point) => point.step <= step);
}
