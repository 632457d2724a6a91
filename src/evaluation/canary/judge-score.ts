import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { CanaryBand, CanaryScore } from '../../core/canary';
import { judgeByFloor, judgeByInterval, judgePaired } from '../../core/canary-verdict';
import { hasErrorCode } from '../../core/error-code';
import { DomainError } from '../../core/errors';
import { smallestOf } from '../../core/extremes';
import { noiseFloor } from '../../core/statistics/noise-floor';
import type { StoredResult } from '../../stores/eval-store';
import { benchmarkFolder, loadResult, streamTrajectories } from '../../stores/eval-store';
import { compareScores } from '../compare/compare-scores';
import type { ExampleScores } from '../compare/example-scores';
import { readExampleScores } from '../compare/example-scores';
import { hasIdentity, identityDifferences } from '../compare/identity-differences';
import { isUnparsed, numRead } from '../judges/parsed-total';

export interface ScoreToJudge {
  /** Name of the schedule, for what is suggested. */
  readonly schedule: string;
  readonly dir: string;
  readonly result: StoredResult;
  readonly band: CanaryBand;
  readonly pinned: {
    readonly score: number;
    readonly stderr: number | null;
    /** Folder of the pinned firing; null where only a score is pinned. */
    readonly dir: string | null;
  };
}

type Judgement = Pick<CanaryScore, 'difference' | 'method' | 'verdict' | 'reason'>;

/** Whether a score is still what it was when it was pinned: on the same examples where both firings are kept, else by its interval. */
export async function judgeScore(asked: ScoreToJudge): Promise<Judgement> {
  const { schedule, dir, result, band, pinned } = asked;
  const before = pinned.dir === null ? null : await loadResult(pinned.dir, result.name);
  if (before) {
    const change = changeOf({ before, now: result, schedule });
    if (change !== null) return { difference: null, method: null, verdict: 'changed', reason: change };
  }
  const higherIsBetter = result.higher_is_better !== false;
  const examples = before && pinned.dir !== null && (await hasExamples(pinned.dir, result.name));
  if (examples && (await hasExamples(dir, result.name))) {
    const paired = await judgeExamples(asked, pinned.dir, higherIsBetter);
    if (paired) return paired;
  }
  const { score, stderr } = result;
  const numExamples = numRead(result);
  return judgeByInterval({ score, stderr, numExamples, higherIsBetter }, pinned, band.level);
}

/** A score of other examples, another prompt or another grader says nothing of the model. */
function changeOf({
  before,
  now,
  schedule,
}: {
  readonly before: StoredResult;
  readonly now: StoredResult;
  readonly schedule: string;
}): string | null {
  if (![before, now].every(hasIdentity)) return null;
  const [first] = identityDifferences(before.identity, now.identity);
  if (!first) return null;
  return `${first.key} is not what it was when the score was pinned (${first.a}, now ${first.b}); pin anew with \`everstep schedule pin ${schedule}\``;
}

async function judgeExamples(
  { dir, result, band }: ScoreToJudge,
  pinnedDir: string,
  higherIsBetter: boolean,
): Promise<Judgement | null> {
  const [now, before] = [await examplesOf(dir, result.name), await examplesOf(pinnedDir, result.name)];
  if (!now || !before) return null;
  const clusters = new Map([...before.clusters, ...now.clusters]);
  const compared = compareScores(now.scores, before.scores, { higherIsBetter, clusters });
  if (!compared) return null;
  const { difference, wins, losses, decisionPValue: pValue } = compared;
  const floor = band.type === 'noise-floor' ? floorOf(pinnedDir, result.name, band.level) : null;
  if (floor !== null) return judgeByFloor({ difference, higherIsBetter }, floor);
  return judgePaired({ difference, pValue, wins, losses, higherIsBetter }, band.level);
}

/** null where a file is torn: the scores themselves can still be compared. */
async function examplesOf(dir: string, benchmark: string): Promise<ExampleScores | null> {
  try {
    return await readExampleScores(dir, benchmark, { completedOnly: false });
  } catch (error) {
    if (error instanceof DomainError && error.code === 'bad-dataset') return null;
    throw error;
  }
}

/** From the samples of each example of the pinned firing, but for verdicts that could not be read; null where each was sampled once. */
function floorOf(dir: string, benchmark: string, level: number): number | null {
  const samples = new Map<string, number[]>();
  for (const { example_id, reward, metrics } of streamTrajectories(benchmarkFolder(dir, benchmark))) {
    if (isUnparsed({ metrics })) continue;
    const rewards = samples.get(example_id) ?? [];
    rewards.push(reward);
    samples.set(example_id, rewards);
  }
  const counts = [...samples.values()].map(({ length }) => length);
  const samplesPerExample = Math.max(1, smallestOf(counts));
  return noiseFloor([...samples.values()], { level, samplesPerExample })?.difference ?? null;
}

async function hasExamples(dir: string, benchmark: string): Promise<boolean> {
  try {
    return (await stat(join(benchmarkFolder(dir, benchmark), 'trajectories.jsonl'))).size > 0;
  } catch (error) {
    if (hasErrorCode(error, 'ENOENT', 'ENOTDIR')) return false;
    throw error;
  }
}
