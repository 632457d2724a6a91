import type { CanaryScore, CanaryVerdict } from './canary';
import { scoreInterval } from './gates/score-interval';
import { normalTwoSided } from './statistics/normal-distribution';
import type { Interval } from './statistics/wilson-interval';

type Judgement = Pick<CanaryScore, 'difference' | 'method' | 'verdict' | 'reason'>;

/** A score of a firing, as far as it decides whether it moved. */
export interface JudgedScore {
  readonly score: number;
  readonly stderr: number | null;
  readonly numExamples: number;
  readonly higherIsBetter: boolean;
}

/** The same examples now and when they were pinned. */
export interface PairedFacts {
  readonly difference: number;
  /** The more careful of the tests a comparison makes. */
  readonly pValue: number;
  readonly wins: number;
  readonly losses: number;
  readonly higherIsBetter: boolean;
}

/** Two runs on the same examples: moved where chance would do as much less often than 1 − level. */
export function judgePaired(facts: PairedFacts, level: number): Judgement {
  const { difference, pValue, wins, losses, higherIsBetter } = facts;
  const changed = `${wins} examples better, ${losses} worse, p ${shown(pValue)}`;
  const hasMoved = pValue < 1 - level;
  return {
    difference,
    method: 'paired',
    verdict: verdictOf(hasMoved, difference, higherIsBetter),
    reason: hasMoved ? `moved by ${signed(difference)}: ${changed}` : `within the band: ${changed}`,
  };
}

/** A difference larger than what sampling alone explains, as the pinned run's samples of each example tell. */
export function judgeByFloor(
  { difference, higherIsBetter }: Pick<PairedFacts, 'difference' | 'higherIsBetter'>,
  floor: number,
): Judgement {
  const hasMoved = Math.abs(difference) > floor + 1e-12;
  const band = `the noise floor of ±${shown(floor)}`;
  return {
    difference,
    method: 'noise-floor',
    verdict: verdictOf(hasMoved, difference, higherIsBetter),
    reason: hasMoved ? `moved by ${signed(difference)}, beyond ${band}` : `within ${band}`,
  };
}

/** A score without examples to pair it with: moved where the pinned score lies outside its interval. */
export function judgeByInterval(
  now: JudgedScore,
  pinned: { readonly score: number; readonly stderr: number | null },
  level: number,
): Judgement {
  const difference = now.score - pinned.score;
  const moved = isOutside(now, pinned, level);
  const how = `pinned ${shown(pinned.score)}, now ${shown(now.score)} on ${now.numExamples} examples`;
  return {
    difference,
    method: 'interval',
    verdict: verdictOf(moved === true, difference, now.higherIsBetter),
    reason: moved === null ? `${how}: too few to tell` : `${moved ? 'left' : 'within'} the band: ${how}`,
  };
}

/** null where nothing is known of the spread. */
function isOutside(
  now: JudgedScore,
  pinned: { readonly score: number; readonly stderr: number | null },
  level: number,
): boolean | null {
  const difference = now.score - pinned.score;
  if (Math.abs(difference) < 1e-12) return false;
  if (pinned.stderr === null) {
    const interval = bandOf(now, level);
    return interval && !contains(interval, pinned.score);
  }
  if (now.stderr === null) return null;
  const spread = Math.sqrt(now.stderr ** 2 + pinned.stderr ** 2);
  if (spread > 0) return normalTwoSided(difference / spread) < 1 - level;
  const interval = bandOf(now, level);
  return interval && !contains(interval, pinned.score);
}

function bandOf({ score, stderr, numExamples }: JudgedScore, level: number): Interval | null {
  return scoreInterval({ value: score, stderr, n: numExamples }, level);
}

function contains([low, high]: Interval, value: number): boolean {
  return value >= low - 1e-12 && value <= high + 1e-12;
}

function verdictOf(hasMoved: boolean, difference: number, higherIsBetter: boolean): CanaryVerdict {
  if (!hasMoved) return 'steady';
  return difference > 0 === higherIsBetter ? 'better' : 'worse';
}

function shown(value: number): string {
  return String(Number(value.toPrecision(3)));
}

function signed(value: number): string {
  return `${value > 0 ? '+' : ''}${shown(value)}`;
}
