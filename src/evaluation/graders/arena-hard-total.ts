import { bootstrapInterval } from '../../core/statistics/bootstrap-interval';
import type { RatioPart } from '../../core/statistics/mean';
import { ratioOf } from '../../core/statistics/mean';
import { isUnparsed, refuseNone } from '../judges/parsed-total';
import type { GraderTotal, TotalledUnit } from './grader';

/** Metrics of a unit that the score is made from. */
export const BATTLES = {
  points: 'battle_points',
  weight: 'battle_weight',
  games: ['game_1', 'game_2'],
} as const;

/** The official interval holds the middle 90 % of 100 draws of battles. */
const OFFICIAL = { level: 0.9, rounds: 100 };
/** An answer that failed or was cut off loses both games, slightly. */
const LOST: RatioPart = { numerator: 0, denominator: 2 };

/**
 * The official arithmetic: a verdict counts as one battle, a strong one as three, and the score is the mean of all battles.
 * Questions without two readable verdicts are counted and left out. Groups (`<benchmark>/<category>`) are scored alike.
 *
 * `ci` draws questions, which are independent of one another; `official_low` and `official_high` draw battles, as published.
 */
export function totalOfBattles(units: readonly TotalledUnit[]): GraderTotal {
  const parsed = units.filter((unit) => !isUnparsed(unit));
  refuseNone(units, parsed);
  const parts = parsed.map(partOf);
  const score = ratioOf(parts);
  const completed = parsed.filter(({ isComplete }) => isComplete);
  const official = bootstrapInterval(parsed.flatMap(battlesOf), meanOfNumbers, OFFICIAL);
  return {
    score: score?.mean ?? 0,
    stderr: score?.standardError ?? null,
    ci: parts.length < 2 ? null : bootstrapInterval(parts, (drawn) => ratioOf(drawn)?.mean ?? 0),
    score_completed: ratioOf(completed.map(partOf))?.mean ?? null,
    num_completed: completed.length,
    metrics: {
      num_unparsed: units.length - parsed.length,
      ...(official && { official_low: official[0], official_high: official[1] }),
      ...groupScores(completed),
    },
  };
}

function partOf(unit: TotalledUnit): RatioPart {
  if (!unit.isComplete) return LOST;
  return {
    numerator: unit.metrics[BATTLES.points] ?? 0,
    denominator: unit.metrics[BATTLES.weight] ?? 0,
  };
}

/** Points of each battle, strong verdicts several times. */
function battlesOf(unit: TotalledUnit): number[] {
  if (!unit.isComplete) return [0, 0];
  return BATTLES.games.flatMap((game) => {
    const points = unit.metrics[game];
    const weight = unit.metrics[`${game}_weight`] ?? 0;
    return points === undefined ? [] : Array.from({ length: weight }, () => points);
  });
}

function meanOfNumbers(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0) / values.length;
}

function groupScores(units: readonly TotalledUnit[]): Record<string, number> {
  const names = new Set(
    units.flatMap(({ metrics }) => Object.keys(metrics).filter((name) => name.includes('/'))),
  );
  const scores: Record<string, number> = {};
  for (const name of names) {
    const score = ratioOf(units.filter(({ metrics }) => name in metrics).map(partOf));
    if (score) scores[name] = score.mean;
  }
  return scores;
}
