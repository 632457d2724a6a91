import type { PairedDifference } from '../statistics/paired-difference';
import { normalQuantile } from '../statistics/normal-distribution';
import type { Interval } from '../statistics/wilson-interval';
import type { EvaluationGate, GateMemory, GateScore } from './gate';
import { differenceInterval, scoreInterval } from './score-interval';

/** What is known of a score that a gate decides by. */
export interface GateEvidence extends GateMemory {
  /** Null where the evaluator failed, was skipped, or gave no such number. */
  readonly score: GateScore | null;
  /** This score less the one it is compared with, on the examples of both; null where examples are not known. */
  readonly paired: Pick<PairedDifference, 'difference' | 'standardError' | 'n'> | null;
}

/** `undecided` where the numbers for a decision are missing: promotion is held and nothing else is done. */
export interface GateVerdict {
  readonly outcome: 'passed' | 'failed' | 'undecided';
  /** Numbers and rule in words. */
  readonly text: string;
}

const LEVEL = 0.95;

/**
 * Whether a score passes its gate. A pure function of scores, so that it decides the same whatever died meanwhile.
 *
 * - `atLeast`, `atMost`: the whole 95 % interval has to lie on the right side.
 * - `notWorseThanBest`: fails where the score is worse than that of the best checkpoint and the interval of their difference
 *   does not hold 0. Before the first promotion the best is the base model, where that was measured.
 * - `improvesOnBase`: the whole interval of the difference from step 0 has to be better.
 *
 * With `on: value` the numbers alone are compared.
 */
export function judgeGate(gate: EvaluationGate, evidence: GateEvidence): GateVerdict {
  const { score } = evidence;
  if (score === null) return undecided(`there is no score ${gate.metric}`);
  const { rule } = gate;
  if ('atLeast' in rule) return judgeBound(gate, score, { bound: rule.atLeast, words: 'at least' });
  if ('atMost' in rule) return judgeBound(gate, score, { bound: rule.atMost, words: 'at most' });
  const other = comparedWith(gate, evidence);
  if ('improvesOnBase' in rule) {
    if (other === null) return undecided('the base model has no score, because step 0 was not measured');
    return judgeDifference(gate, { ...evidence, score }, { other, level: rule.improvesOnBase });
  }
  if (other === null) return { outcome: 'passed', text: `${shown(gate, score)}, the first of its kind` };
  return judgeDifference(gate, { ...evidence, score }, { other, level: rule.notWorseThanBest });
}

/** The score that a rule compares with; null where the rule needs none, or there is none yet. */
export function comparedWith(
  { rule }: Pick<EvaluationGate, 'rule'>,
  { base, best }: GateMemory,
): GateScore | null {
  if ('improvesOnBase' in rule) return base;
  return 'notWorseThanBest' in rule ? (best ?? base) : null;
}

/** Whether a checkpoint that passed takes the place of the best. */
export function isBetter(
  gate: Pick<EvaluationGate, 'higherIsBetter'>,
  one: GateScore,
  other: GateScore,
): boolean {
  return gate.higherIsBetter ? one.value > other.value : one.value < other.value;
}

interface Bound {
  readonly bound: number;
  readonly words: 'at least' | 'at most';
}

function judgeBound(gate: EvaluationGate, score: GateScore, { bound, words }: Bound): GateVerdict {
  const interval = gate.on === 'value' ? pointOf(score.value) : scoreInterval(score, LEVEL);
  if (interval === null) return withoutInterval(gate, score);
  const isPassed = words === 'at least' ? interval[0] >= bound : interval[1] <= bound;
  return {
    outcome: isPassed ? 'passed' : 'failed',
    text: `${shown(gate, score)} is ${isPassed ? '' : 'not '}${words} ${bound}`,
  };
}

interface Comparison {
  readonly other: GateScore;
  readonly level: number;
}

function judgeDifference(
  gate: EvaluationGate,
  evidence: GateEvidence & { readonly score: GateScore },
  { other, level }: Comparison,
): GateVerdict {
  const { score } = evidence;
  const raw = gate.on === 'value' ? pointOf(score.value - other.value) : intervalOf(evidence, other, level);
  if (raw === null) return withoutInterval(gate, score);
  const [low, high] = gate.higherIsBetter ? raw : [-raw[1], -raw[0]];
  const hasToImprove = 'improvesOnBase' in gate.rule;
  const isPassed = hasToImprove ? low > 0 : high >= 0;
  const relation = hasToImprove
    ? `${isPassed ? 'improves' : 'does not improve'} on ${number(other.value)} of the base model`
    : `is ${isPassed ? 'not ' : ''}worse than ${number(other.value)} of step ${other.step}`;
  const difference = gate.on === 'value' ? '' : `: difference ${range(raw)}`;
  return { outcome: isPassed ? 'passed' : 'failed', text: `${shown(gate, score)} ${relation}${difference}` };
}

/** Paired where the same examples were scored, which takes their own difficulty out of the error. */
function intervalOf(
  { score, paired }: GateEvidence & { readonly score: GateScore },
  other: GateScore,
  level: number,
): Interval | null {
  const spread = paired?.standardError ?? 0;
  // Without any spread the pairs say nothing of how sure the difference is.
  if (paired === null || spread < 1e-12) return differenceInterval(score, other, level);
  const half = normalQuantile((1 + level) / 2) * spread;
  return [paired.difference - half, paired.difference + half];
}

function withoutInterval(gate: EvaluationGate, score: GateScore): GateVerdict {
  return undecided(`${shown(gate, score)} has no interval; "on: value" compares the number alone`);
}

function undecided(text: string): GateVerdict {
  return { outcome: 'undecided', text };
}

function pointOf(value: number): Interval {
  return [value, value];
}

function shown({ metric, on }: EvaluationGate, score: GateScore): string {
  const interval = on === 'value' ? null : scoreInterval(score, LEVEL);
  return `${metric} ${number(score.value)}${interval ? ` ${range(interval)}` : ''}`;
}

function range([low, high]: Interval): string {
  return `[${number(low)}, ${number(high)}]`;
}

function number(value: number): string {
  return String(Number(value.toPrecision(4)));
}
