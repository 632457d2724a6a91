import { join } from 'node:path';
import type { Message } from '../../core/conversation';
import type { Rollout, RolloutGroup, RolloutStopReason, Transition } from '../../core/reinforcement/rollout';
import { totalReward } from '../../core/reinforcement/rollout';
import { isEventKey, rolloutMetrics } from '../../core/reinforcement/rollout-metrics';
import { meanOf } from '../../core/statistics/mean';
import { passAtK } from '../../core/statistics/pass-at-k';
import { digestOf } from '../../evaluation/digest';
import { SEED_RULE } from '../../evaluation/runner/identity';
import type { LineFile } from '../../evaluation/runner/line-file';
import { passRates } from '../../evaluation/runner/pass-rates';
import { spreadOf } from '../../evaluation/runner/score-spread';
import { writeLines } from '../../evaluation/runner/write-lines';
import type { ResultIdentity, StoredResult, StoredTrajectory, StoredTurn } from '../../stores/eval-store';
import { isTruncated } from '../../stores/eval-store';
import { turnMetadata } from '../../stores/turn-calls';
import { writeJson } from '../../stores/whole-file';
import type { SampledGroup } from '../rollouts/sample-group';
import { spokenText } from './message-text';
import { gradingOf } from './grading-of';

/** Held-out problems as they were played, in the order of the dataset. */
export interface PlayedTestSet {
  /** Of the evaluator. */
  readonly name: string;
  readonly groups: readonly SampledGroup[];
  /** Of several environments: the first tag of a group names its part. */
  readonly isMixture: boolean;
  /** Rollouts asked of each problem. */
  readonly groupSize: number;
  readonly identity: TestSetIdentity;
  readonly seconds: number;
}

interface TestSetIdentity extends Pick<ResultIdentity, 'sampling' | 'model' | 'checkpoint'> {
  readonly environment: unknown;
  /** Hash of the plug-in code that plays and grades it; null where that is ours. */
  readonly code: string | null;
  readonly renderer: string;
}

interface GradedTestSet extends PlayedTestSet {
  /** Scored by right answers. */
  readonly isGraded: boolean;
}

type RolloutTrajectory = Omit<StoredTrajectory, 'idx' | 'benchmark'>;
/** What the result is made of. */
type ScoredRollout = Pick<StoredTrajectory, 'reward' | 'error' | 'metrics'>;

/**
 * Writes held-out rollouts as a benchmark's files, so that they can be compared, browsed and exported as one: an example is a problem.
 * The score is the share of right answers where environments say `correct`, else the mean reward. Nothing is written where every
 * rollout failed.
 */
export async function writeTestSetResult(
  folder: string,
  played: PlayedTestSet,
  verify: () => void,
): Promise<void> {
  const { name, groups } = played;
  if (groups.every(({ rollouts }) => rollouts.length === 0)) return;
  const graded = { ...played, isGraded: measuresCorrect(groups, played.isMixture) };
  const byProblem: ScoredRollout[][] = [];
  let idx = 0;
  const writeTo = async (file: LineFile) => {
    for (const group of groups) {
      const trajectories = trajectoriesOf(group, graded);
      byProblem.push(trajectories.map(({ reward, error, metrics }) => ({ reward, error, metrics })));
      for (const trajectory of trajectories) {
        file.add(JSON.stringify({ idx: idx++, benchmark: name, ...trajectory } satisfies StoredTrajectory));
        await file.whenWritten();
      }
    }
  };
  await writeLines(join(folder, 'trajectories.jsonl'), writeTo, verify);
  verify();
  await writeJson(join(folder, 'result.json'), resultOf(graded, byProblem));
}

/** A limit ended the rollout, whatever the environment would have said. */
const CUT_SHORT: ReadonlySet<string> = new Set<RolloutStopReason>([
  ...(['max_tokens', 'max_sampled_tokens', 'context_overflow', 'max_turns', 'rollout_timeout'] as const),
]);

/**
 * Whether a test set is scored by its right answers. Not where its environment says of none whether it is right; of a mixture each part
 * has to, as those of a part that never does would count as wrong. Where every rollout was cut short or failed, nothing was right.
 * So the same configuration has the same scores at every step.
 */
export function measuresCorrect(groups: readonly RolloutGroup[], isMixture: boolean): boolean {
  const byPart = new Map<string, Rollout[]>();
  for (const { tags, rollouts } of groups) {
    const part = isMixture ? (tags[0] ?? '') : '';
    byPart.set(part, [...(byPart.get(part) ?? []), ...rollouts]);
  }
  return [...byPart.values()].every(saysCorrect);
}

function saysCorrect(rollouts: readonly Rollout[]): boolean {
  return (
    rollouts.some((rollout) => correctOf(rollout) !== undefined) ||
    rollouts.every(({ stopReason }) => stopReason !== null && CUT_SHORT.has(stopReason))
  );
}

/** 1 for a right answer; undefined where the environment does not say. */
export function correctOf({ metrics, transitions }: Rollout): number | undefined {
  return metrics['correct'] ?? transitions.at(-1)?.metrics['correct'];
}

function resultOf(
  { name, groups, groupSize, identity, seconds, isGraded }: GradedTestSet,
  byProblem: readonly (readonly ScoredRollout[])[],
): StoredResult {
  const rollouts = byProblem.flat();
  const completed = byProblem.map((own) => own.filter(isCompleted));
  const scores = byProblem.map((own) => own.map(({ reward }) => reward));
  const isBinary = scores.flat().every((score) => score === 0 || score === 1);
  const examples = scores.map((own) => ({ value: meanOf(own)?.mean ?? 0, cluster: null }));
  const judged = scores.map((own) => ({
    count: own.length,
    correct: own.filter((score) => score > 0).length,
  }));
  return {
    name,
    ...spreadOf(examples, { isBinary, isAskedOnce: groupSize === 1 }),
    score_completed: meanOfMeans(completed),
    num_examples: rollouts.length,
    num_completed: completed.flat().length,
    num_correct: rollouts.filter(({ reward }) => reward > 0).length,
    num_errors: rollouts.filter(({ error }) => error !== null).length,
    num_truncated: rollouts.filter(isTruncated).length,
    metrics: rolloutMetrics(groups),
    time_seconds: seconds,
    pass_at_k: isBinary ? passRates(judged, groupSize, passAtK) : {},
    identity: identityOf(groups, identity, isGraded),
  };
}

function isCompleted(rollout: ScoredRollout): boolean {
  return rollout.error === null && !isTruncated(rollout);
}

/** Over the problems that have a rollout here; null where none has. */
function meanOfMeans(byProblem: readonly (readonly ScoredRollout[])[]): number | null {
  const means = byProblem.flatMap((own) => meanOf(own.map(({ reward }) => reward))?.mean ?? []);
  return meanOf(means)?.mean ?? null;
}

function identityOf(
  groups: readonly SampledGroup[],
  { environment, code, renderer, ...rest }: TestSetIdentity,
  isGraded: boolean,
): ResultIdentity {
  return {
    ...rest,
    benchmarkVersion: 1,
    dataHash: digestOf(groups.map(({ id }) => id)),
    promptHash: digestOf([renderer]),
    graderVersion: `${isGraded ? 'correct' : 'reward'}@${gradingDigest({ environment, code })}`,
    sampling: { ...rest.sampling, seed: SEED_RULE },
  };
}

/** Of an environment of a plug-in, the code that is found there, too. */
export function gradingDigest({ environment, code }: Pick<TestSetIdentity, 'environment' | 'code'>): string {
  const grading = gradingOf(environment);
  return digestOf(code === null ? grading : [grading, code]);
}

/** A line for each rollout that was asked for, those that failed last. */
function trajectoriesOf(
  { id, tags, rollouts, conversations, ...failed }: SampledGroup,
  { groupSize, isGraded }: Pick<GradedTestSet, 'groupSize' | 'isGraded'>,
): RolloutTrajectory[] {
  const placeOf = (index: number) => ({ example_id: id, ...(groupSize > 1 && { sample_index: index }) });
  const played = rollouts.map((rollout, index): RolloutTrajectory => ({
    ...placeOf(index),
    turns: turnsOf(rollout, conversations[index] ?? []),
    reward: isGraded ? (correctOf(rollout) ?? 0) : totalReward(rollout),
    metrics: metricsOf(rollout),
    logs: { ...rollout.transitions.at(-1)?.logs, example_id: id, tags, stop_reason: rollout.stopReason },
    error: null,
    time_seconds: 0,
  }));
  const missing = Array.from(
    { length: Math.max(0, groupSize - rollouts.length) },
    (_, index): RolloutTrajectory => ({
      ...placeOf(rollouts.length + index),
      ...{ turns: [], reward: 0, metrics: {}, logs: { example_id: id, tags } },
      error: errorFromLast(failed, index),
      time_seconds: 0,
    }),
  );
  return [...played, ...missing];
}

/** `environment_error: no such file` */
function errorFromLast(
  { errorTypes, errorMessages }: Pick<SampledGroup, 'errorTypes' | 'errorMessages'>,
  index: number,
): string {
  const type = errorTypes.at(-1 - index) ?? 'failed';
  const message = errorMessages.at(-1 - index);
  return message === undefined ? type : `${type}: ${message}`;
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
      content: spokenText(message),
      token_count: turn?.actionTokens.length ?? 0,
      metadata: { ...turnMetadata(message), ...(turn && samplingOf(turn)) },
    };
  });
}

/** A turn that nothing was drawn for asked for nothing. */
function samplingOf({ stopReason, observationTokens }: Transition): StoredTurn['metadata'] {
  return {
    stop_reason: stopReason,
    ...(stopReason !== null && { prompt_tokens: observationTokens.length }),
  };
}
