import type { Message } from '../../core/conversation';
import { decideGroup } from '../../core/reinforcement/group-tolerance';
import type { RolloutGroup } from '../../core/reinforcement/rollout';
import type { GroupOutcome } from '../../core/reinforcement/rollout-errors';
import { clampRewardOnLimit } from '../../core/reinforcement/termination';
import type {
  EnvironmentBounds,
  EnvironmentGroup,
  PlayedRollout,
  RolloutGrade,
  TrainingEnvironment,
} from '../environments/environment-dataset';
import { allOrAbort } from '../../evaluation/all-or-abort';
import { boundedWork } from './bounded-work';
import { checkedGrades } from './environment-answers';
import { computeLogprobs } from './compute-logprobs';
import type { PlayGuard } from './deadly-plays';
import { diedWith, playForeign } from './deadly-plays';
import type { JudgedPlay } from './judged-play';
import { playRollout } from './play-rollout';
import type { FailedGroup } from './rollout-failure';
import { failedStep, failureText, RolloutFailure, samplingFailure } from './rollout-failure';
import type { RolloutOptions, RolloutSite } from './rollout-site';
import { ENVIRONMENT_TIMEOUT_SECONDS, graderTimeoutOf } from './rollout-site';
import type { SampleSeeds } from './sample-seeds';

export interface GroupTask {
  readonly group: EnvironmentGroup;
  readonly groupSize: number;
  readonly seeds: SampleSeeds;
  readonly policyVersion: number;
  readonly place?: FailedGroup['place'];
  /** Where models judge the group. */
  readonly judged?: JudgedPlay | null;
  /** Where processes died before with groups that were played together. */
  readonly guard?: PlayGuard | null;
}

/** A group as it was sampled. `rollouts` is empty where it was skipped. */
export interface SampledGroup extends RolloutGroup, GroupOutcome {
  /** The conversation of each rollout. */
  readonly conversations: readonly (readonly Message[])[];
  /** What was said of each of `errorTypes`; none in files of releases before it was kept. */
  readonly errorMessages: readonly string[];
}

/** What a member of the group has come to. */
interface Member {
  readonly index: number;
  readonly redraw: number;
  readonly result: PlayedRollout | RolloutFailure | null;
}

/**
 * Rolls out a group: its members at once, those that failed again or left out, as the strategy says, and then the rewards
 * that the group gives as a whole.
 *
 * A function of the seeds, the weights and what the environments do. Throws where the strategy tolerates no failure, and
 * what is no rollout's fault, such as a lost service.
 */
export async function sampleGroup(
  site: RolloutSite,
  task: GroupTask,
  options: RolloutOptions,
): Promise<SampledGroup> {
  return new GroupPlay(site, task, options).run();
}

/** A group with which the process that played it died each time: as one whose rollouts all fail. */
export function givenUp(
  { strategy }: Pick<RolloutSite, 'strategy'>,
  { group: { id, tags }, place }: Pick<GroupTask, 'group' | 'place'>,
  deaths: number,
): SampledGroup {
  const failure = diedWith({ deaths, cause: null }, 'this group', 'environment_error');
  if (strategy.type === 'fail-fast') throw failedStep({ id, place }, 0, failure);
  return { id, tags, rollouts: [], conversations: [], ...failuresAsKept([failure]), isSkipped: true };
}

function failuresAsKept(
  failures: readonly RolloutFailure[],
): Pick<SampledGroup, 'errorTypes' | 'errorMessages'> {
  return {
    errorTypes: failures.map(({ type }) => type),
    errorMessages: failures.map(failureText),
  };
}

class GroupPlay {
  private members: readonly Member[];
  private readonly failures: RolloutFailure[] = [];
  private retriesUsed = 0;
  /** The site as completions are drawn at it. */
  private readonly drawing: RolloutSite;

  constructor(
    private readonly site: RolloutSite,
    private readonly task: GroupTask,
    private readonly options: RolloutOptions,
  ) {
    const { groupSize, judged, policyVersion } = task;
    this.drawing = judged ? { ...site, sampler: judged.samplerOver(site.sampler, policyVersion) } : site;
    this.members = Array.from({ length: groupSize }, (_, index) => ({ index, redraw: 0, result: null }));
  }

  async run(): Promise<SampledGroup> {
    await this.playMembers(this.members);
    for (;;) {
      const failed = this.members.filter(isFailed);
      const successCount = this.members.length - failed.length;
      const decision = decideGroup(this.site.strategy, {
        groupSize: this.members.length,
        successCount,
        failureCount: failed.length,
        retriesUsed: this.retriesUsed,
      });
      if (decision.type === 'skip') return this.groupOf([]);
      if (decision.type !== 'retry') return this.gradedTogether();
      this.retriesUsed += decision.count;
      await this.playMembers(failed.slice(0, decision.count));
    }
  }

  private get named() {
    return { id: this.task.group.id, place: this.task.place };
  }

  private async playMembers(members: readonly Member[]): Promise<void> {
    const limit = this.task.guard?.isOneByOne === true ? 1 : Infinity;
    const played = await allOrAbort(members, { signal: this.options.signal, limit }, (member, signal) =>
      this.playMember(member, signal),
    );
    const byIndex = new Map(played.map((member) => [member.index, member]));
    this.members = this.members.map((member) => byIndex.get(member.index) ?? member);
    this.failures.push(...played.flatMap(({ result }) => (result instanceof RolloutFailure ? [result] : [])));
  }

  private async playMember({ index, redraw }: Member, signal: AbortSignal): Promise<Member> {
    try {
      const { policyVersion, seeds, guard } = this.task;
      const seedOf = (turn: number) => seeds({ member: index, turn, redraw });
      const subject = `the environment of group ${JSON.stringify(this.task.group.id)}, rollout ${index}`;
      const play = { member: index, redraw };
      const result = await playForeign(guard, { subject, play, type: 'environment_error' }, () => {
        const environment = this.makeEnvironment(index, signal);
        const rollout = { environment, member: index, policyVersion, seedOf };
        return playRollout(this.drawing, rollout, { ...this.options, signal });
      });
      return { index, redraw, result };
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof RolloutFailure)) throw error;
      if (this.site.strategy.type === 'fail-fast') throw failedStep(this.named, index, error);
      return { index, redraw: redraw + Number(error.needsRedraw), result: error };
    }
  }

  private makeEnvironment(member: number, signal: AbortSignal): TrainingEnvironment {
    const { limits, toolExecution = 'parallel', tokenizer, onWaiting } = this.site;
    const { maxToolCalls } = limits;
    const { askJudges } = this.task.judged ?? {};
    const bounds: EnvironmentBounds = {
      ...{ maxToolCalls, toolExecution, work: this.site, signal },
      ...(askJudges && { askJudges }),
      ...(tokenizer && { tokenizer }),
      ...(onWaiting && { onWaiting }),
    };
    try {
      return this.task.group.make(member, bounds);
    } catch (error) {
      throw new RolloutFailure('environment_error', error);
    }
  }

  private async gradedTogether(): Promise<SampledGroup> {
    const played = this.members.flatMap(({ result }) => (isPlayed(result) ? [result] : []));
    try {
      const grades = await this.gradesOf(played);
      return await this.scored(this.groupOf(played.map((each, index) => this.settled(each, grades[index]))));
    } catch (error) {
      this.options.signal.throwIfAborted();
      const failure =
        error instanceof RolloutFailure ? error : new RolloutFailure('group_rewards_error', error);
      if (this.site.strategy.type === 'fail-fast') throw failedStep(this.named, 0, failure);
      this.failures.push(failure);
      return this.groupOf([]);
    }
  }

  private async scored(group: SampledGroup): Promise<SampledGroup> {
    const { computeLogprobs: isAsked, sampler } = this.site;
    if (!isAsked) return group;
    try {
      return await computeLogprobs(sampler, group, this.options);
    } catch (error) {
      throw samplingFailure(error);
    }
  }

  private async gradesOf(played: readonly PlayedRollout[]): Promise<readonly RolloutGrade[]> {
    const { group, guard } = this.task;
    if (group.rewards === undefined) return [];
    const seconds =
      graderTimeoutOf(this.site) ?? this.site.environmentTimeoutSeconds ?? ENVIRONMENT_TIMEOUT_SECONDS;
    const late = () => new RolloutFailure('grader_timeout', new Error(`no rewards within ${seconds} s`));
    const { signal } = this.options;
    try {
      const judge = (inner: AbortSignal) => group.rewards?.(played, { signal: inner }) ?? [];
      const subject = `the rewards of group ${JSON.stringify(group.id)}`;
      const play = { member: null, redraw: this.retriesUsed };
      const grades = await playForeign(guard, { subject, play, type: 'group_rewards_error' }, () =>
        boundedWork(judge, { signal, timeoutMs: seconds * 1000, late }),
      );
      return checkedGrades(grades, played.length);
    } catch (error) {
      throw error instanceof RolloutFailure ? error : new RolloutFailure('group_rewards_error', error);
    }
  }

  private settled({ rollout, messages }: PlayedRollout, grade: RolloutGrade | undefined): PlayedRollout {
    const graded = {
      ...rollout,
      finalReward: rollout.finalReward + (grade?.reward ?? 0),
      metrics: { ...rollout.metrics, ...grade?.metrics },
    };
    const { termination } = this.site;
    return { rollout: termination ? clampRewardOnLimit(graded, termination) : graded, messages };
  }

  private groupOf(played: readonly PlayedRollout[]): SampledGroup {
    const { id, tags } = this.task.group;
    return {
      id,
      tags,
      rollouts: played.map(({ rollout }) => rollout),
      conversations: played.map(({ messages }) => messages),
      ...failuresAsKept(this.failures),
      isSkipped: played.length === 0,
    };
  }
}

function isPlayed(result: Member['result']): result is PlayedRollout {
  return result !== null && !(result instanceof RolloutFailure);
}

function isFailed({ result }: Member): boolean {
  return !isPlayed(result);
}
