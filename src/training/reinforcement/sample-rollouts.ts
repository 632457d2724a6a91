import { join } from 'node:path';
import type { ReinforcementConfig } from '../../config/reinforcement-config';
import type { TellWaiting } from '../../core/concurrency/waiting-reasons';
import { WaitingReasons } from '../../core/concurrency/waiting-reasons';
import { DomainError } from '../../core/errors';
import type { Sampler } from '../../core/sampling';
import type { SamplingAccount } from '../../core/sampling-cost';
import type { Tokenizer } from '../../core/tokenizer';
import type { JudgeAccess } from '../../evaluation/judges/judge-access';
import type { PolicySnapshot } from '../../core/training-plan';
import { findRenderer } from '../../renderers/find-renderer';
import type { RunStore } from '../../stores/run-store';
import type { EngineAccess, EngineConnection } from '../engine-access';
import { readRunRecord } from '../run-folder';
import { allOrAbort } from '../../evaluation/all-or-abort';
import type { RolloutSite } from '../rollouts/rollout-site';
import { JudgedGroups } from '../rollouts/judged-groups';
import type { GroupPlace } from '../rollouts/rollout-rows';
import type { GroupTask, SampledGroup } from '../rollouts/sample-group';
import { givenUp, sampleGroup } from '../rollouts/sample-group';
import { createSampleSeeds } from '../rollouts/sample-seeds';
import type { AwaitedPolicy } from '../policy-note';
import type { StoreNews } from '../store-news';
import { guardOpening } from './guard-opening';
import { klReferenceSampler, namingKlReference } from './kl-reference';
import { PolicySampler } from './policy-sampler';
import { referenceLogprobs } from './reference-logprobs';
import type { EnvironmentAccess } from './open-environments';
import { RolloutJournal } from './rollout-journal';
import { contextLengthOf, rolloutRulesOf } from './rollout-site-of';
import type { SamplingRun, SamplingRuns } from './sampling-runs';
import type { ShardGuard } from './shard-guard';
import { openShardGuard } from './shard-guard';
import type { SampledShard } from './sampled-shard';
import type { Accounted } from './within-account';
import { withinAccount } from './within-account';

export interface SampleRolloutsDependencies extends EnvironmentAccess {
  readonly store: RunStore;
  readonly engines: EngineAccess;
  readonly tokenizerOf: (model: string) => Promise<Tokenizer>;
  readonly sampling: SamplingRuns;
  /** Shared with the segments of this process. */
  readonly news: StoreNews;
  /** Whether a shard may wait for its weights: where there is one place, it would keep everyone else from sampling. */
  readonly mayWait: boolean;
}

export interface SampleRolloutsInput {
  readonly run: string;
  /** The step that the groups are trained in. */
  readonly step: number;
  readonly firstGroup: number;
  readonly groupCount: number;
  /** The weights to sample from; null where they are still to come. */
  readonly policy: PolicySnapshot | null;
  /** Which weights are waited for, where they are still to come. */
  readonly awaited?: AwaitedPolicy;
  /** Weights that nothing is sampled from any more. */
  readonly retired?: readonly string[];
  /** Absent where no prices are known. */
  readonly account?: SamplingAccount;
}

export interface SampleRolloutsOptions {
  readonly signal: AbortSignal;
  /** From 1. */
  readonly attempt: number;
  /** Of the account: a higher one shuts out the lower. */
  readonly epoch: number;
  readonly onProgress: (groupsDone: number) => void;
  /** Told what keeps the shard waiting; null when it goes on. */
  readonly onWaiting: TellWaiting;
}

interface Sampling {
  readonly site: RolloutSite;
  readonly active: SamplingRun;
  readonly journal: RolloutJournal;
  readonly input: SampleRolloutsInput;
  readonly policyVersion: number;
  readonly reference: Sampler | null;
  readonly judged: JudgedGroups;
  readonly news: StoreNews;
  readonly guard: ShardGuard;
  readonly signal: AbortSignal;
}

/**
 * Samples the groups of a shard that are not journalled yet, and journals each when it is done. Where the weights are still
 * to come it makes everything ready and waits for them, for a while.
 *
 * Repeated, it samples only what is missing; of two attempts at one group the first to finish counts.
 */
export async function sampleRollouts(
  dependencies: SampleRolloutsDependencies,
  input: SampleRolloutsInput,
  options: SampleRolloutsOptions,
): Promise<SampledShard> {
  const { sampling, engines, store, tokenizerOf, news, judges, mayWait } = dependencies;
  const { signal } = options;
  const active = await openRun(dependencies, input, options);
  const { config } = active;
  const tokenizer = await tokenizerOf(config.model);
  const runFolder = store.runFolder(input.run);
  const connect = () => engines.connect(config.engine, { baseModel: config.model, signal });
  return sampling.connections.use(input.run, connect, async (engine) => {
    const deleting = deleteRetired(engine, input.retired ?? []);
    deleting.catch(() => undefined);
    const ready = { active, engine, tokenizer, runFolder, news, judges, mayWait };
    const folder = join(runFolder, 'rollouts', String(input.step));
    const { account, firstGroup } = input;
    const shard = await withinAccount({ ...options, folder, firstGroup, account }, (accounted) =>
      sampleWithPolicy({ ...ready, limit: accounted.limit }, input, { ...options, signal: accounted.signal }),
    );
    await deleting;
    return active.codeRemark === null ? shard : { ...shard, remark: active.codeRemark };
  });
}

async function openRun(
  { sampling, store }: Pick<SampleRolloutsDependencies, 'sampling' | 'store'>,
  { run, step, firstGroup }: SampleRolloutsInput,
  tried: SampleRolloutsOptions,
): Promise<SamplingRun> {
  const plugins = async () => (await readRunRecord(store, run)).config.plugins;
  const journals = join('rollouts', String(step));
  const places = { journals, mark: join(journals, `.opening-${firstGroup}.json`) };
  const opening = { run, folder: store.runFolder(run), places, what: 'its environment', plugins };
  return guardOpening(opening, tried, () => sampling.open(run));
}

/** What does not depend on the weights. */
interface Ready extends Pick<Accounted, 'limit'> {
  readonly active: SamplingRun;
  readonly engine: EngineConnection;
  readonly tokenizer: Tokenizer;
  readonly runFolder: string;
  readonly news: StoreNews;
  readonly judges: JudgeAccess | undefined;
  readonly mayWait: boolean;
}

async function sampleWithPolicy(
  ready: Ready,
  input: SampleRolloutsInput,
  { signal, attempt, onProgress, onWaiting }: SampleRolloutsOptions,
): Promise<SampledShard> {
  const { active, engine, runFolder, news, judges, mayWait, limit } = ready;
  const { klReference } = active.record;
  const policy = new PolicySampler(engine.client, { ...input, mayWait }, { runFolder, news, signal });
  const waits = new WaitingReasons(onWaiting);
  const judged = new JudgedGroups(judges, runFolder, { signal: policy.signal, onWaiting: waits.part() });
  const reference = klReference ? klReferenceSampler(engine.client, klReference) : null;
  try {
    if (!mayWait || isTimed(active.config)) await policy.arrived();
    const journal = new RolloutJournal(runFolder, klReference !== undefined);
    await journal.files.prepare(input.step);
    const guard = await guardOf(runFolder, journal, { ...input, attempt });
    const sampling: Sampling = {
      site: { ...siteOf(ready, limit(policy)), onWaiting: waits.part() },
      ...{ active, journal, guard },
      input,
      policyVersion: policy.step,
      reference: reference && limit(namingKlReference(reference)),
      judged,
      news,
      signal: policy.signal,
    };
    try {
      const skippedGroupCount = await sampleShard(sampling, active.config, onProgress);
      return { skippedGroupCount, seconds: policy.secondsSinceArrival() };
    } finally {
      await guard.close();
    }
  } catch (error) {
    if (policy.isInVain && !signal.aborted) return { skippedGroupCount: 0, seconds: 0, isInVain: true };
    throw error;
  } finally {
    await policy.close();
    await reference?.close();
    await judged.close();
  }
}

/** Rollouts whose time is limited do not begin before their weights are there; others have their prompts ready by then. */
function isTimed({ limits }: ReinforcementConfig): boolean {
  return limits.timeoutSeconds !== undefined || limits.samplingTimeoutSeconds !== undefined;
}

async function sampleShard(
  sampling: Sampling,
  { rolloutConcurrency, groupSize }: ReinforcementConfig,
  onProgress: (groupsDone: number) => void,
): Promise<number> {
  const { guard, input } = sampling;
  const { firstGroup, groupCount } = input;
  const groups = Array.from({ length: groupCount }, (_, index) => firstGroup + index);
  const limit = guard.isCareful ? 1 : Math.max(1, Math.floor(rolloutConcurrency / groupSize));
  let doneCount = 0;
  const areSkipped = await allOrAbort(groups, { signal: sampling.signal, limit }, async (group, signal) => {
    const isSkipped = await sampleOne({ ...sampling, signal }, group);
    doneCount += 1;
    onProgress(doneCount);
    return isSkipped;
  });
  return areSkipped.filter(Boolean).length;
}

/** Returns whether the group is of no use. */
async function sampleOne(sampling: Sampling, group: number): Promise<boolean> {
  const { input, journal, reference, news, signal } = sampling;
  const { step } = input;
  signal.throwIfAborted();
  const sampled = await obtainGroup(sampling, { step, group });
  if (reference && (await journal.references.read(step, group)) === null) {
    await journal.references.write(step, group, await referenceLogprobs(reference, sampled, signal));
  }
  news.tell();
  return sampled.isSkipped;
}

/** The group as it is journalled; sampled and journalled where it is not yet. */
async function obtainGroup(sampling: Sampling, place: GroupPlace): Promise<SampledGroup> {
  const { active, journal, judged, signal } = sampling;
  const { config, dataset, orderOf } = active;
  const number = (place.step - 1) * config.groupsPerBatch + place.group;
  const problem = dataset.groupAt(orderOf(number));
  const play = judged.play(problem, { place, signal });
  const stored = await journal.files.readGroup(place);
  if (stored) {
    await play?.discard();
    return stored;
  }
  const task = {
    ...{ group: problem, groupSize: config.groupSize, judged: play, place },
    seeds: createSampleSeeds(config.seed, number),
  };
  const sampled = await playGroup(sampling, task);
  await play?.settle();
  const written = await journal.files.write(place, sampled);
  await play?.discard();
  return written;
}

async function playGroup(
  { site, guard, policyVersion, signal }: Sampling,
  task: Omit<GroupTask, 'policyVersion' | 'guard'> & { readonly place: GroupPlace },
): Promise<SampledGroup> {
  const guarded = await guard.enter(task.place.group);
  if (guarded.deaths > 0) return givenUp(site, task, guarded.deaths);
  return sampleGroup(site, { ...task, policyVersion, guard: guarded }, { signal });
}

async function guardOf(
  folder: string,
  { files }: RolloutJournal,
  { step, firstGroup, groupCount, attempt }: SampleRolloutsInput & { readonly attempt: number },
): Promise<ShardGuard> {
  const groups = attempt > 1 ? await files.listGroups(step) : [];
  const journalledCount = groups.filter(
    (group) => group >= firstGroup && group < firstGroup + groupCount,
  ).length;
  return openShardGuard({ folder, step, firstGroup, journalledCount, attempt });
}

function siteOf({ active, engine, tokenizer }: Ready, sampler: Sampler): RolloutSite {
  const { config, record } = active;
  return {
    ...rolloutRulesOf(config),
    sampler,
    tokenizer,
    renderer: findRenderer(record.renderer, tokenizer, config.templateArguments),
    contextLength: contextLengthOf(engine.profile),
    now: () => performance.now(),
  };
}

/** What cannot be deleted expires by itself. */
async function deleteRetired({ client }: EngineConnection, paths: readonly string[]): Promise<void> {
  for (const path of paths) {
    try {
      await client.deleteCheckpoint(path);
    } catch (error) {
      if (!(error instanceof DomainError)) throw error;
    }
  }
}
