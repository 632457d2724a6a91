import { DomainError } from '../core/errors';
import type { RunState } from '../core/run';
import type { ModelIncarnation, TrainingPlan } from '../core/training-plan';
import type { TinkerClient } from '../engines/tinker/client';
import type { RunStore } from '../stores/run-store';
import type { ActiveRuns } from './active-runs';
import { requireRun } from './run-folder';

export interface CloseRunInput {
  readonly plan: TrainingPlan;
  readonly model: ModelIncarnation | null;
  readonly status: 'completed' | 'stopped' | 'cancelled' | 'failed';
  readonly reason?: string;
  readonly step: number;
  readonly rewinds: number;
  readonly stepsReplayed: number;
  readonly remarks?: readonly string[];
}

export interface CloseDependencies {
  readonly store: RunStore;
  readonly runs: ActiveRuns;
  readonly now: () => Date;
  readonly warn: (message: string, error: unknown) => void;
  /** Set after several attempts: a service that stays away shall not keep the run from closing. */
  readonly isLastChance: boolean;
}

/** Writes how the run ended, with the digest of its final weights, and releases the model. Repeating it changes nothing. */
export async function closeRun(
  dependencies: CloseDependencies,
  input: CloseRunInput,
): Promise<string | null> {
  const { store, now } = dependencies;
  const { plan } = input;
  await requireRun(store, plan.run);
  const before = await store.readState(plan.run);
  if (!before) throw new DomainError('unknown-run', `Run "${plan.run}" has no state.json in ${store.root}.`);
  const finalWeightsDigest = await release(dependencies, input);
  const state: RunState = {
    ...before,
    status: input.status,
    step: await lastStep(store, input),
    totalSteps: plan.totalSteps,
    closedAt: now().toISOString(),
    lineage: input.model?.lineage ?? 0,
    rewinds: input.rewinds,
    stepsReplayed: input.stepsReplayed,
    ...(input.remarks && { remarks: input.remarks }),
    finalWeightsDigest,
    ...(input.reason !== undefined && { reason: input.reason }),
  };
  await store.writeState(plan.run, state);
  return finalWeightsDigest;
}

/** A segment cut short has journalled steps that its workflow never heard of. */
async function lastStep(store: RunStore, { plan, step }: CloseRunInput): Promise<number> {
  const last = await store.readLastMetrics(plan.run);
  return Math.max(step, last?.step ?? 0);
}

async function release(
  { store, runs, isLastChance, warn }: CloseDependencies,
  { plan, model, status }: CloseRunInput,
): Promise<string | null> {
  try {
    return await runs.use(plan.run, async ({ engine }) => {
      if (model) await unload(engine.client, model, status);
      const final = (await store.readCheckpoints(plan.run)).find((row) => row.final);
      if (final?.sampler_path == null || !engine.profile.readsWeights) return null;
      return engine.client.weightsDigest(final.sampler_path);
    });
  } catch (error) {
    if (!isLastChance && error instanceof DomainError && error.retryable) throw error;
    warn('the final weights could not be read', error);
    return null;
  } finally {
    await runs.forget(plan.run);
  }
}

async function unload(
  client: TinkerClient,
  model: ModelIncarnation,
  status: CloseRunInput['status'],
): Promise<void> {
  try {
    await client.unloadModel(model.modelId);
    await client.finishSession(model.sessionId, status === 'failed' ? 'errored' : 'success');
  } catch (error) {
    // The service ended them already.
    if (!(error instanceof DomainError) || error.retryable) throw error;
  }
}
