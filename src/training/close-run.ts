import { untilAborted } from '../core/concurrency/until-aborted';
import { DomainError } from '../core/errors';
import type { RunState } from '../core/run';
import type { RunEvent } from '../core/timeline';
import type { ModelIncarnation, TrainingPlan } from '../core/training-plan';
import type { TinkerClient } from '../engines/tinker/client';
import { REWARD_ALARM } from '../core/reinforcement/reward-watch';
import type { RunStore } from '../stores/run-store';
import type { ActiveRuns } from './active-runs';
import type { EngineConnection } from './engine-access';
import { removePolicyNote } from './policy-note';
import { recordEvents } from './record-events';
import { failedRollouts } from './reinforcement/failed-rollouts';
import { nothingLearnt } from './reinforcement/nothing-learnt';
import { isTakenOver, requireOwner } from './require-owner';
import type { RunRecord } from './run-folder';
import { requireRun } from './run-folder';
import { sweepCheckpoints } from './sweep-checkpoints';

export interface CloseRunInput {
  readonly plan: TrainingPlan;
  readonly model: ModelIncarnation | null;
  readonly status: 'completed' | 'stopped' | 'cancelled' | 'failed';
  readonly reason?: string;
  readonly step: number;
  readonly rewinds: number;
  readonly stepsReplayed: number;
  readonly remarks?: readonly string[];
  /** Every model the run had. */
  readonly lives?: readonly string[];
  /** What happened since the last segment. */
  readonly events?: readonly RunEvent[];
  /** Rises with everything that writes the run's journals. */
  readonly segment?: number;
}

export interface CloseDependencies {
  readonly store: RunStore;
  readonly runs: ActiveRuns;
  readonly now: () => Date;
  readonly warn: (message: string, error: unknown) => void;
  /** Set after several attempts: a service that stays away shall not keep the run from closing. */
  readonly isLastChance: boolean;
  /** The lease under which events are written. */
  readonly epoch: number;
}

const LETTING_GO_MS = 10_000;

/** Writes how the run ended, with the digest of its final weights, and releases the model. Repeating it changes nothing. */
export async function closeRun(
  dependencies: CloseDependencies,
  input: CloseRunInput,
): Promise<string | null> {
  const { store, now } = dependencies;
  const { plan } = input;
  if (await isNotOursToClose(dependencies, input)) return null;
  const before = await store.readState(plan.run);
  if (!before) throw new DomainError('unknown-run', `Run "${plan.run}" has no state.json in ${store.root}.`);
  await recordEvents(store, { run: plan.run, events: input.events, epoch: dependencies.epoch });
  const finalWeightsDigest = await release(dependencies, input);
  const remarks = [
    ...(input.remarks ?? []),
    ...(await rewardRemarks(store, input.plan)),
    ...(await scoreRemarks(store, plan.run, input.remarks ?? [])),
  ];
  const state: RunState = {
    ...before,
    status: input.status,
    step: await lastStep(store, input),
    totalSteps: plan.totalSteps,
    closedAt: now().toISOString(),
    lineage: input.model?.lineage ?? before.lineage,
    rewinds: input.rewinds,
    stepsReplayed: input.stepsReplayed,
    ...(remarks.length > 0 && { remarks }),
    finalWeightsDigest,
    ...(input.reason !== undefined && { reason: input.reason }),
  };
  await store.writeState(plan.run, state);
  if (plan.rollouts) await removePolicyNote(store.runFolder(plan.run));
  return finalWeightsDigest;
}

async function isNotOursToClose(dependencies: CloseDependencies, input: CloseRunInput): Promise<boolean> {
  if (await isBeyondRecording(dependencies, input)) return true;
  await requireRun(dependencies.store, input.plan.run);
  return isLost(dependencies, input);
}

/** A run that is to end ends also where its folder was deleted: there is nowhere to write how. */
async function isBeyondRecording(dependencies: CloseDependencies, input: CloseRunInput): Promise<boolean> {
  const { store, runs, isLastChance, warn } = dependencies;
  const { run } = input.plan;
  if (!isLastChance || !isEnded(input) || (await store.exists(run))) return false;
  warn('the run was closed without a record', new Error(`${store.runFolder(run)} is not there`));
  await runs.forget(run);
  return true;
}

/** Another workflow's run is not closed, whatever became of this one; the model that this one has is let go of. */
async function isLost(dependencies: CloseDependencies, input: CloseRunInput): Promise<boolean> {
  const { store, runs, epoch, warn } = dependencies;
  const { run } = input.plan;
  if (!(await isTakenOver(store, run, epoch))) return false;
  if (!isEnded(input)) await requireOwner(store, run, epoch);
  const { model, status } = input;
  const signal = AbortSignal.timeout(LETTING_GO_MS);
  try {
    if (model)
      await untilAborted(
        runs.use(run, ({ engine }) => unload(engine.client, model, { status, signal })),
        signal,
      );
  } catch (error) {
    warn('the model of a run that another workflow has taken over was not let go of', error);
  } finally {
    await runs.forget(run);
  }
  return true;
}

function isEnded({ status }: CloseRunInput): boolean {
  return status === 'cancelled' || status === 'failed';
}

async function rewardRemarks(store: RunStore, { run, rollouts }: TrainingPlan): Promise<string[]> {
  if (!rollouts) return [];
  const metrics = await store.readMetrics(run);
  const remarks = [
    nothingLearnt(await store.readConfig<RunRecord>(run), metrics),
    failedRollouts(run, metrics),
  ];
  return remarks.filter((remark) => remark !== null);
}

/** The newest of each evaluator that was not told while the run went on. */
async function scoreRemarks(store: RunStore, run: string, told: readonly string[]): Promise<string[]> {
  const newest = new Map<string, string>();
  for (const { evaluator, metric, step, remark } of await store.readScores(run)) {
    if (remark === undefined || told.includes(remark) || metric.startsWith(REWARD_ALARM)) continue;
    newest.set(evaluator, `evaluator "${evaluator}" at step ${step}: ${remark}`);
  }
  return [...newest.values()];
}

/** A segment cut short has journalled steps that its workflow never heard of. */
async function lastStep(store: RunStore, { plan, step }: CloseRunInput): Promise<number> {
  const last = await store.readLastMetrics(plan.run);
  return Math.max(step, last?.step ?? 0);
}

/** A run that ended by itself waits for its digest; one that was ended does not wait long for a service that is away. */
async function release(dependencies: CloseDependencies, input: CloseRunInput): Promise<string | null> {
  const { runs, isLastChance, warn } = dependencies;
  const { run } = input.plan;
  const signal = isEnded(input) ? AbortSignal.timeout(LETTING_GO_MS) : new AbortController().signal;
  try {
    return await untilAborted(
      runs.use(run, ({ engine }) => letGo(dependencies, input, { engine, signal })),
      signal,
    );
  } catch (error) {
    if (!isEnded(input) && !isLastChance && error instanceof DomainError && error.retryable) throw error;
    warn('the run was closed without a word from the training service', error);
    return null;
  } finally {
    await runs.forget(run);
  }
}

interface LettingGo {
  readonly engine: EngineConnection;
  readonly signal: AbortSignal;
}

async function letGo(
  { store, warn }: CloseDependencies,
  { plan, model, status, lives = [] }: CloseRunInput,
  { engine, signal }: LettingGo,
): Promise<string | null> {
  const { client, profile } = engine;
  if (model) await unload(client, model, { status, signal });
  const rows = await store.readCheckpoints(plan.run);
  try {
    if (profile.detachesSnapshots) await sweepCheckpoints(client, { lives, rows, signal });
  } catch (error) {
    warn('what the run left at the training service was not removed', error);
  }
  const final = rows.find((row) => row.final);
  if (final?.sampler_path == null || !profile.readsWeights) return null;
  return client.weightsDigest(final.sampler_path);
}

async function unload(
  client: TinkerClient,
  model: ModelIncarnation,
  { status, signal }: { readonly status: CloseRunInput['status']; readonly signal: AbortSignal },
): Promise<void> {
  try {
    await client.unloadModel(model.modelId, { signal });
    await client.finishSession(model.sessionId, status === 'failed' ? 'errored' : 'success', { signal });
  } catch (error) {
    // The service ended them already.
    if (!(error instanceof DomainError) || error.retryable) throw error;
  }
}
