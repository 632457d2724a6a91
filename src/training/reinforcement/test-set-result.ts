import type { Message } from '../../core/conversation';
import type { Rollout, Transition } from '../../core/reinforcement/rollout';
import { totalReward } from '../../core/reinforcement/rollout';
import { isEventKey, rolloutMetrics } from '../../core/reinforcement/rollout-metrics';
import { meanOf } from '../../core/statistics/mean';
import { passAtK } from '../../core/statistics/pass-at-k';
import { digestOf } from '../../evaluation/digest';
import { SEED_RULE } from '../../evaluation/runner/identity';
import { passRates } from '../../evaluation/runner/pass-rates';
import { spreadOf } from '../../evaluation/runner/score-spread';
import type { ResultIdentity, StoredResult, StoredTrajectory, StoredTurn } from '../../stores/eval-store';
import { isTruncated, writeBenchmark } from '../../stores/eval-store';
import type { SampledGroup } from '../rollouts/sample-group';
import { messageText } from './message-text';

/** Held-out problems as they were played, in the order of the dataset. */
export interface PlayedTestSet {
  /** Of the evaluator. */
  readonly name: string;
  readonly groups: readonly SampledGroup[];
  /** Rollouts asked of each problem. */
  readonly groupSize: number;
  readonly identity: TestSetIdentity;
  readonly seconds: number;
}

export interface TestSetIdentity extends Pick<ResultIdentity, 'sampling' | 'model' | 'checkpoint'> {
  readonly environment: unknown;
  readonly renderer: string;
}

interface ProblemRollout {
  readonly score: number;
  readonly trajectory: Omit<StoredTrajectory, 'idx' | 'benchmark'>;
}

/**
 * Writes held-out rollouts as a benchmark's files, so that they can be compared, browsed and exported as one: an example is a problem.
 * The score is the share of right answers where environments say `correct`, else the mean reward. Nothing is written where every
 * rollout failed.
 */
export async function writeTestSetResult(folder: string, played: PlayedTestSet): Promise<void> {
  const { name, groups } = played;
  if (groups.every(({ rollouts }) => rollouts.length === 0)) return;
  const isGraded = groups.some(({ rollouts }) =>
    rollouts.some((rollout) => correctOf(rollout) !== undefined),
  );
  const byProblem = groups.map((group) => rolloutsOf(group, { ...played, isGraded }));
  const trajectories = byProblem
    .flat()
    .map(({ trajectory }, idx): StoredTrajectory => ({ idx, benchmark: name, ...trajectory }));
  await writeBenchmark(folder, resultOf(played, byProblem, trajectories), trajectories);
}

/** 1 for a right answer; undefined where the environment does not say. */
export function correctOf({ metrics, transitions }: Rollout): number | undefined {
  return metrics['correct'] ?? transitions.at(-1)?.metrics['correct'];
}

function resultOf(
  { name, groups, groupSize, identity, seconds }: PlayedTestSet,
  byProblem: readonly (readonly ProblemRollout[])[],
  trajectories: readonly StoredTrajectory[],
): StoredResult {
  const scores = byProblem.map((rollouts) => rollouts.map(({ score }) => score));
  const completed = trajectories.filter(
    (trajectory) => trajectory.error === null && !isTruncated(trajectory),
  );
  const isBinary = scores.flat().every((score) => score === 0 || score === 1);
  const examples = scores.map((own) => ({ value: meanOf(own)?.mean ?? 0, cluster: null }));
  const rightCounts = scores.map((own) => own.filter((score) => score > 0).length);
  return {
    name,
    ...spreadOf(examples, { isBinary, isAskedOnce: groupSize === 1 }),
    score_completed: meanOf(completed.map(({ reward }) => reward))?.mean ?? null,
    num_examples: trajectories.length,
    num_completed: completed.length,
    num_correct: trajectories.filter(({ reward }) => reward > 0).length,
    num_errors: trajectories.filter(({ error }) => error !== null).length,
    num_truncated: trajectories.filter(isTruncated).length,
    metrics: rolloutMetrics(groups),
    time_seconds: seconds,
    pass_at_k: isBinary ? passRates(rightCounts, groupSize, passAtK) : {},
    identity: identityOf(groups, identity),
  };
}

function identityOf(
  groups: readonly SampledGroup[],
  { environment, renderer, ...rest }: TestSetIdentity,
): ResultIdentity {
  return {
    ...rest,
    benchmarkVersion: 1,
    dataHash: digestOf(groups.map(({ id }) => id)),
    promptHash: digestOf([renderer]),
    graderVersion: digestOf(environment),
    sampling: { ...rest.sampling, seed: SEED_RULE },
  };
}

function rolloutsOf(
  { id, tags, rollouts, conversations, errorTypes }: SampledGroup,
  { groupSize, isGraded }: { readonly groupSize: number; readonly isGraded: boolean },
): ProblemRollout[] {
  const sampleIndex = (index: number) => (groupSize > 1 ? { sample_index: index } : {});
  const played = rollouts.map((rollout, index): ProblemRollout => {
    const score = isGraded ? (correctOf(rollout) ?? 0) : totalReward(rollout);
    const trajectory = {
      ...{ example_id: id, ...sampleIndex(index), turns: turnsOf(rollout, conversations[index] ?? []) },
      ...{ reward: score, metrics: metricsOf(rollout), error: null, time_seconds: 0 },
      logs: { example_id: id, tags, stop_reason: rollout.stopReason, ...rollout.transitions.at(-1)?.logs },
    };
    return { score, trajectory };
  });
  const failed = Array.from(
    { length: Math.max(0, groupSize - rollouts.length) },
    (_, index): ProblemRollout => {
      const trajectory = {
        ...{ example_id: id, ...sampleIndex(rollouts.length + index), turns: [], reward: 0, metrics: {} },
        ...{ logs: { example_id: id, tags }, error: errorTypes.at(-1 - index) ?? 'failed', time_seconds: 0 },
      };
      return { score: 0, trajectory };
    },
  );
  return [...played, ...failed];
}

/** What a turn noted last, and of what happens in turns how often it did. */
function metricsOf(rollout: Rollout): Record<string, number> {
  const noted: Record<string, number> = {};
  for (const { metrics } of rollout.transitions) {
    for (const [key, value] of Object.entries(metrics))
      noted[key] = isEventKey(key) ? (noted[key] ?? 0) + value : value;
  }
  return { ...noted, ...rollout.metrics, 'reward/total': totalReward(rollout) };
}

function turnsOf({ transitions }: Rollout, messages: readonly Message[]): StoredTurn[] {
  const written = messages.filter(({ role }) => role === 'assistant');
  // Where prompts have replies of their own, or a turn left none, it is not known which turn wrote which.
  const wrote = new Map<Message, Transition | undefined>(
    written.map((message, index) => [
      message,
      written.length === transitions.length ? transitions[index] : undefined,
    ]),
  );
  const firstReply = messages.findIndex(({ role }) => role === 'assistant');
  return messages.map((message, index): StoredTurn => {
    const turn = wrote.get(message);
    const isAsked = firstReply === -1 || index < firstReply;
    return {
      role: message.role === 'assistant' ? 'assistant' : isAsked ? 'user' : 'environment',
      content: messageText(message),
      token_count: turn?.actionTokens.length ?? 0,
      metadata: { role: message.role, ...(turn && { stop_reason: turn.stopReason }) },
    };
  });
}
