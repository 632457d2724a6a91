import { meanOf } from '../../core/statistics/mean';
import { passAtK } from '../../core/statistics/pass-at-k';
import type { Interval } from '../../core/statistics/wilson-interval';
import { wilsonInterval, Z_95 } from '../../core/statistics/wilson-interval';
import type { Tokenizer } from '../../core/tokenizer';
import type { ResultIdentity, StoredResult, StoredTrajectory, StoredTurn } from '../../stores/eval-store';
import { Turns } from '../turns';
import type { GradedExample } from './graded-examples';

export interface ResultFacts {
  readonly name: string;
  readonly identity: ResultIdentity;
  readonly seconds: number;
}

interface TrajectoryContext {
  readonly benchmark: string;
  readonly tokenizer: Tokenizer;
}

/** Sums up a benchmark. Errors and truncations count 0 in `score`; `score_completed` leaves them out. */
export function resultOf(
  graded: readonly GradedExample[],
  { name, identity, seconds }: ResultFacts,
): StoredResult {
  const rewards = graded.map(rewardOf);
  const completed = graded.filter(({ score }) => score !== null).map(rewardOf);
  const correctCount = rewards.filter((reward) => reward > 0).length;
  const score = meanOf(rewards);
  return {
    name,
    score: score?.mean ?? 0,
    stderr: score?.standardError ?? null,
    ci: intervalOf(rewards),
    score_completed: meanOf(completed)?.mean ?? null,
    num_examples: graded.length,
    num_completed: completed.length,
    num_correct: correctCount,
    num_errors: graded.filter(({ error }) => error !== null).length,
    num_truncated: graded.filter(({ truncation }) => truncation !== null).length,
    metrics: tokenMetrics(graded),
    time_seconds: seconds,
    pass_at_k: passRates(rewards),
    identity,
  };
}

/** Decodes many tokens, so it lets others have their turn in between. */
export async function trajectoriesOf(
  graded: readonly GradedExample[],
  context: TrajectoryContext,
): Promise<StoredTrajectory[]> {
  const turns = new Turns();
  const trajectories: StoredTrajectory[] = [];
  for (const [idx, result] of graded.entries()) {
    await turns.next();
    trajectories.push(trajectoryOf(idx, result, context));
  }
  return trajectories;
}

function trajectoryOf(
  idx: number,
  result: GradedExample,
  { benchmark, tokenizer }: TrajectoryContext,
): StoredTrajectory {
  const { example, sample, score, truncation, error } = result;
  return {
    idx,
    benchmark,
    example_id: example.id,
    turns: turnsOf(result, tokenizer),
    reward: rewardOf(result),
    metrics: { correct: Number(rewardOf(result) > 0), ...(truncation && { [truncation]: 1 }) },
    logs: { example_id: example.id, target: example.target, answer: score?.answer ?? null },
    error,
    time_seconds: sample?.time_seconds ?? 0,
  };
}

function rewardOf({ score }: GradedExample): number {
  return score?.value ?? 0;
}

/** Wilson's for right or wrong, else the mean ± 1.96 standard errors. */
function intervalOf(rewards: readonly number[]): Interval | null {
  if (rewards.every((reward) => reward === 0 || reward === 1)) {
    return wilsonInterval(rewards.filter((reward) => reward === 1).length, rewards.length);
  }
  const score = meanOf(rewards);
  if (score?.standardError == null) return null;
  return [score.mean - Z_95 * score.standardError, score.mean + Z_95 * score.standardError];
}

function passRates(rewards: readonly number[]): Record<string, number> {
  const rates = rewards.map((reward) => passAtK(1, Number(reward > 0), 1)).filter((rate) => rate !== null);
  const mean = meanOf(rates);
  return mean === null ? {} : { '1': mean.mean };
}

function tokenMetrics(graded: readonly GradedExample[]): Record<string, number> {
  const sampled = graded.map(({ sample }) => sample?.tokens.length ?? 0);
  const prompts = graded.map(({ prompt }) => prompt.length);
  return {
    total_ac_tokens: sampled.reduce((total, count) => total + count, 0),
    total_ob_tokens: prompts.reduce((total, count) => total + count, 0),
  };
}

function turnsOf({ prompt, sample, score }: GradedExample, tokenizer: Tokenizer): StoredTurn[] {
  if (!sample) return [];
  const asked = {
    role: 'user' as const,
    content: tokenizer.decode(prompt),
    token_count: prompt.length,
    metadata: {},
  };
  const answered = {
    role: 'assistant' as const,
    content: tokenizer.decode(sample.tokens),
    token_count: sample.tokens.length,
    metadata: { stop_reason: sample.stop_reason },
  };
  if (!score) return [asked, answered];
  const { value, answer, explanation = '' } = score;
  return [
    asked,
    answered,
    { role: 'grader', content: explanation, token_count: 0, metadata: { value, answer } },
  ];
}
