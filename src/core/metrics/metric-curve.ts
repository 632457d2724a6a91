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

/** Where each of two runs stood when both had read as much as the one that read less. */
export interface StepsAtTokens {
  readonly tokens: number;
  readonly a: number;
  readonly b: number;
}

/** null where a run counts no tokens, or they read the same step by step. */
export function stepsAtEqualTokens(
  a: readonly TokensAtStep[],
  b: readonly TokensAtStep[],
): StepsAtTokens | null {
  const [lastA, lastB] = [a.at(-1), b.at(-1)];
  if (!lastA || !lastB || readTheSame(a, b)) return null;
  const tokens = Math.min(lastA.tokens, lastB.tokens);
  const stepOf = (rows: readonly TokensAtStep[]) => rows.findLast((row) => row.tokens <= tokens)?.step ?? 0;
  return { tokens, a: stepOf(a), b: stepOf(b) };
}

/** Both as far as the one that read less. null where that is no step of either. */
export function pointAtTokens(
  a: readonly CurvePoint[],
  b: readonly CurvePoint[],
  { tokens, ...steps }: StepsAtTokens,
): PointAtTokens | null {
  const [pointA, pointB] = [lastUntil(a, steps.a), lastUntil(b, steps.b)];
  if (!pointA || !pointB) return null;
  return { tokens, a: pointA, b: pointB, difference: pointA.value - pointB.value };
}

function readTheSame(a: readonly TokensAtStep[], b: readonly TokensAtStep[]): boolean {
  const others = new Map(b.map(({ step, tokens }) => [step, tokens]));
  return a.every(({ step, tokens }) => (others.get(step) ?? tokens) === tokens);
}

function lastUntil(curve: readonly CurvePoint[], step: number): CurvePoint | undefined {
  return curve.findLast((point) => point.step <= step);
}
