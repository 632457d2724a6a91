import { shellWord } from '../shell-word';
import type { Interval } from '../statistics/wilson-interval';
import type { EvaluationGate, GateMemory, GateScore } from './gate';
import type { ComparedScores } from './score-interval';
import { comparedInterval, scoreInterval } from './score-interval';

export interface CheckpointStep {
  readonly run: string;
  readonly step: number;
}

/** What is known of a score that a gate decides by. */
export interface GateEvidence extends GateMemory {
  /** Null where the evaluator failed, was skipped, or gave no such number. */
  readonly score: GateScore | null;
  readonly paired: ComparedScores['paired'];
  /** The checkpoint that was promoted has no such score: what may not be worse than it cannot be told. */
  readonly unmeasured?: CheckpointStep | null;
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
  const { unmeasured = null } = evidence;
  if (unmeasured !== null) return undecided(`${shown(gate, score)}, and ${lackOfScore(gate, unmeasured)}`);
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

/**
 * Why a checkpoint that passed does not take the place of the best; null where it does. By significance the whole 95 % interval of
 * the difference has to be better; by the point, the number alone.
 */
export function lackToReplace(
  { higherIsBetter, by }: Pick<EvaluationGate, 'higherIsBetter' | 'by'>,
  compared: ComparedScores,
): string | null {
  const { score, other } = compared;
  const isBetter = higherIsBetter ? score.value > other.value : score.value < other.value;
  if (!isBetter) return `not better than step ${other.step}`;
  if (by !== 'significance') return null;
  const raw = comparedInterval(compared, LEVEL);
  if (raw === null) {
    return `not known to be better than step ${other.step}: without an interval only "by: point" can tell`;
  }
  return (higherIsBetter ? raw[0] > 0 : raw[1] < 0)
    ? null
    : `not significantly better than step ${other.step}: difference ${range(raw)}`;
}

/** What is said of a promoted checkpoint that a gate cannot compare with. */
export function lackOfScore({ metric, evaluator }: EvaluationGate, checkpoint: CheckpointStep): string {
  const { run, step } = checkpoint;
  const command = `everstep runs eval ${run}@${step} --evaluator ${shellWord(evaluator)}`;
  return `step ${step}, which was promoted, has no ${metric} to compare with: \`${command}\` measures it`;
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
  const raw =
    gate.on === 'value'
      ? pointOf(score.value - other.value)
      : comparedInterval({ ...evidence, other }, level);
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
