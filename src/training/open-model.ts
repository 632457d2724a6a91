import { anySignal } from '../core/concurrency/any-signal';
import { DomainError } from '../core/errors';
import type { ModelIncarnation, OpenedModel, OpenModelInput, TrainingPosition } from '../core/training-plan';
import type { TinkerClient } from '../engines/tinker/client';
import type { RunStore } from '../stores/run-store';
import type { EngineAccess, EngineConnection } from './engine-access';
import { paymentRequired } from './engine-access';
import type { SessionOwner } from './fence-model';
import { endForgottenSessions, endLife, metadataOf } from './fence-model';
import { Patience, UNPAID } from './patience';
import { requireOwner } from './require-owner';
import type { RestoredModel } from './restore-model';
import { restoreModel } from './restore-model';
import type { RunRecord } from './run-folder';
import type { PatientSignal } from './segment-contract';
import { closeJournals, openJournals } from './step-journals';

export interface OpenModelDependencies {
  readonly store: RunStore;
  readonly engines: EngineAccess;
  readonly record: RunRecord;
  /** The lease under which the journals are cut; rises with every attempt. */
  readonly epoch: number;
  readonly signal: AbortSignal;
  /** After this long without room or answer the run waits and shows it, instead of this attempt. */
  readonly patienceMs?: number;
}

interface Attempt extends OpenModelDependencies {
  readonly engine: EngineConnection;
  readonly owner: SessionOwner;
}

const PATIENCE_MS = 5000;
const CLEARING_MS = 5000;

/**
 * Opens the run's model: from the newest checkpoint with optimizer state that its workflow has heard of, or the one
 * before it, or the start. A later checkpoint would skip evaluations of the steps before it.
 *
 * The life before is ended first and then asked how far it came, so that what is trained again is known exactly.
 * Repeating it opens another session and finds the same answers. On a service that is not deterministic, rows after
 * the checkpoint are cut: their steps will be trained anew. A service without room is `engine-busy`: the run waits.
 */
export async function openModel(
  dependencies: OpenModelDependencies,
  input: OpenModelInput,
): Promise<OpenedModel> {
  const { engines, record, store, epoch } = dependencies;
  await requireOwner(store, input.run, epoch);
  const patience = new Patience(dependencies.patienceMs ?? PATIENCE_MS);
  const engine = await engines.connect(record.config.engine, {
    baseModel: record.config.model,
    onWait: patience.onWait,
  });
  const waiting = patience.watch();
  const signal = anySignal([dependencies.signal, waiting.signal]);
  try {
    const workflow = (await store.readOwner(input.run))?.firstRunId ?? '';
    const attempt = { ...dependencies, engine, signal, owner: { run: input.run, workflow, epoch } };
    return await openInSession(attempt, input);
  } catch (error) {
    throw dependencies.signal.aborted ? error : reasonOf(error, input, { waiting, url: engine.url });
  } finally {
    waiting.stop();
    await engine.client.close();
  }
}

async function openInSession(attempt: Attempt, input: OpenModelInput): Promise<OpenedModel> {
  const { engine, record, store, owner, signal } = attempt;
  const { client } = engine;
  const applied = input.previous && (await endLife(engine, input.previous, signal));
  const spec = {
    tags: record.config.engine.tags,
    userMetadata: { ...metadataOf(owner), incarnation: String(input.incarnation) },
  };
  const sessionId = await client.createSession(spec, { signal });
  try {
    const known = (await store.readCheckpoints(input.run)).filter(
      ({ step }) => step <= input.collectedThrough,
    );
    const opening = { client, sessionId, config: record.config, signal };
    const restored = await restoreModel(opening, known, record.initialPath);
    const updatesPerStep = record.config.kind === 'rl' ? record.config.numSubsteps : 1;
    const tokensSent = await tokensSentBy(store, input);
    const lastStep = (await store.readLastMetrics(input.run))?.step ?? 0;
    await cutJournals(attempt, restored);
    const opened = {
      model: incarnationOf(input, engine, { sessionId, restored }),
      position: positionAfter(restored),
      stepsToReplay: reachOf(input, { applied, lastStep, updatesPerStep }) - baseStepOf(restored),
      remarks: restored.remarks,
      ...(tokensSent > 0 && { tokensSent }),
    };
    await store.writeLife(input.run, opened.model);
    await noteRewind(store, input, opened);
    return opened;
  } catch (error) {
    await clearAway(client, sessionId, { error, owner });
    throw error;
  }
}

/** Also of steps that nobody collected, because engine or worker died. */
async function tokensSentBy(store: RunStore, { run, previous }: OpenModelInput): Promise<number> {
  if (previous === null) return 0;
  const rows = await store.readSent(run);
  const own = rows.filter(({ incarnation }) => incarnation === previous.incarnation);
  return own.reduce((most, { tokens }) => Math.max(most, tokens), 0);
}

/** The store answers for the run while nothing else does, so it is told of rewinds as they happen. */
async function noteRewind(store: RunStore, input: OpenModelInput, opened: OpenedModel): Promise<void> {
  const state = await store.readState(input.run);
  if (!state || input.previous === null) return;
  await store.writeState(input.run, {
    ...state,
    lineage: opened.model.lineage,
    rewinds: rewindsAfter(input, opened),
    stepsReplayed: (input.stepsReplayed ?? 0) + opened.stepsToReplay,
  });
}

/** A life that was let go of at the checkpoint it goes on from is none. */
function rewindsAfter(
  { isReleased, rewinds, collectedThrough }: OpenModelInput,
  opened: OpenedModel,
): number {
  if (rewinds === undefined) return opened.model.incarnation;
  return rewinds + (isReleased && opened.position.collectedThrough < collectedThrough ? 1 : 0);
}

interface Traces {
  /** Updates of the model's last life; null where the service does not count them. */
  readonly applied: number | null;
  /** In the journals. */
  readonly lastStep: number;
  readonly updatesPerStep: number;
}

/**
 * The step that the model's last life, or the journals, came to. What was collected of a life was applied, even if
 * the service's record of it is lost: the journals count then. A step of which some updates were applied was begun.
 */
function reachOf(
  { previous, collectedThrough }: OpenModelInput,
  { applied, lastStep, updatesPerStep }: Traces,
): number {
  const isCounted =
    applied !== null &&
    previous?.baseStep !== undefined &&
    (applied > 0 || collectedThrough <= previous.baseStep);
  const reached = isCounted ? previous.baseStep + Math.ceil(applied / updatesPerStep) : lastStep;
  return Math.max(0, collectedThrough, reached);
}

/** Nobody will hear of this attempt's session. Where there is no room, those of attempts before it may be why. */
async function clearAway(
  client: TinkerClient,
  sessionId: string,
  { error, owner }: { readonly error: unknown; readonly owner: SessionOwner },
): Promise<void> {
  try {
    await client.finishSession(sessionId, 'interrupted', { signal: AbortSignal.timeout(CLEARING_MS) });
    const isLackingRoom = !(error instanceof DomainError) || error.code === 'engine-busy';
    if (isLackingRoom) await endForgottenSessions(client, owner);
  } catch {
    // They end by themselves, without heartbeats.
  }
}

/** What the run waits for or tries again, and what it fails with. */
function reasonOf(
  error: unknown,
  { run, previous }: OpenModelInput,
  { waiting, url }: { readonly waiting: PatientSignal; readonly url: string },
): unknown {
  const reason = waiting.reason();
  if (reason === UNPAID) return paymentRequired(url, previous !== null);
  if (reason !== null && !(error instanceof DomainError)) {
    return new DomainError(
      'engine-busy',
      `The training service keeps the model of run "${run}" waiting: ${reason}. It is tried again.`,
      { retryable: true, cause: error },
    );
  }
  const isPassing =
    error instanceof DomainError && (error.code === 'session-lost' || error.category === 'server');
  return isPassing ? new DomainError('engine-busy', error.message, { retryable: true, cause: error }) : error;
}

async function cutJournals(
  { store, record, epoch, engine }: Attempt,
  { row, missing }: RestoredModel,
): Promise<void> {
  const gone = new Set(missing.map(({ name }) => name));
  const base = row?.step ?? -1;
  const isKept = engine.profile.deterministic
    ? () => true
    : (other: { readonly step: number }) => other.step <= base;
  await closeJournals(
    await openJournals({
      store,
      run: record.run,
      epoch,
      keepSteps: isKept,
      // The replayed steps save them again, under the new life.
      keepCheckpoints: ({ name, step }) => !gone.has(name) && step <= base,
    }),
  );
}

function incarnationOf(
  { incarnation, lineage, isReleased, collectedThrough }: OpenModelInput,
  { url, profile }: EngineConnection,
  { sessionId, restored }: { readonly sessionId: string; readonly restored: RestoredModel },
): ModelIncarnation {
  const { maxChunkDatums, maxChunkBytes } = profile;
  // Its checkpoint is gone, so what was trained since an earlier one is trained anew, otherwise.
  const isTornOff = isReleased && !profile.deterministic && (restored.row?.step ?? -1) < collectedThrough;
  return {
    sessionId,
    modelId: restored.modelId,
    baseStep: baseStepOf(restored),
    incarnation,
    lineage: lineage + (isTornOff ? 1 : 0),
    engineUrl: url,
    isDeterministic: profile.deterministic,
    deduplicates: profile.deduplicates,
    chunkLimits: { maxChunkDatums, maxChunkBytes },
  };
}

function baseStepOf({ row }: RestoredModel): number {
  return row?.step ?? 0;
}

function positionAfter({ row, nextSeqId }: RestoredModel): TrainingPosition {
  const step = row?.step ?? -1;
  return {
    collectedThrough: step,
    submittedThrough: step,
    nextSeqId,
    inFlight: [],
    tokens: row?.elapsed_tokens ?? 0,
    tokensSubmitted: row?.elapsed_tokens ?? 0,
    ...(row?.updates !== undefined && { updates: row.updates }),
  };
}
