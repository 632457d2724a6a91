import { DomainError } from '../core/errors';
import type { ModelIncarnation } from '../core/training-plan';
import type { TinkerClient } from '../engines/tinker/client';
import type { EngineConnection } from './engine-access';

/** Who opened a session: what a later attempt recognises it by. */
export interface SessionOwner {
  readonly run: string;
  /** Of the workflow the run belongs to; names of runs are not unique at a service. */
  readonly workflow: string;
  /** Rises with every attempt to open the run's model. */
  readonly epoch: number;
}

const SWEEP_MS = 10_000;

/**
 * Ends one life of the model and returns how many optimizer steps it was given; null where the service cannot say.
 *
 * Once the service has confirmed that the model is gone, nothing is applied to it any more, whoever still sends
 * requests: only then is it asked. Asked again, it answers the same.
 */
export async function endLife(
  { client, profile }: EngineConnection,
  { modelId, sessionId }: ModelIncarnation,
  signal: AbortSignal,
): Promise<number | null> {
  const isCounted = profile.countsAppliedSteps;
  await tolerating({ isCounted, signal }, () => client.unloadModel(modelId, { signal }));
  await tolerating({ isCounted: false, signal }, () =>
    client.finishSession(sessionId, 'interrupted', { signal }),
  );
  return isCounted ? client.appliedSteps(modelId, { signal }) : null;
}

/** Ends sessions that earlier attempts opened for this run and never told of, so that their models make room. */
export async function endForgottenSessions(client: TinkerClient, owner: SessionOwner): Promise<void> {
  const signal = AbortSignal.timeout(SWEEP_MS);
  const sessions = await client.listSessions({ signal });
  for (const { sessionId } of sessions.filter(({ userMetadata }) => isForgotten(userMetadata, owner))) {
    await client.finishSession(sessionId, 'interrupted', { signal });
  }
}

export function metadataOf({ run, workflow, epoch }: SessionOwner): Record<string, string> {
  return { run, workflow, epoch: String(epoch) };
}

/** An attempt that comes back from the dead must not end the session of the one that took its place. */
function isForgotten(metadata: Readonly<Record<string, unknown>>, owner: SessionOwner): boolean {
  return (
    metadata['run'] === owner.run &&
    metadata['workflow'] === owner.workflow &&
    Number(metadata['epoch']) < owner.epoch
  );
}

interface Tolerance {
  /** The steps will be counted, so the model must be known to be gone. */
  readonly isCounted: boolean;
  readonly signal: AbortSignal;
}

/** The service may have dropped it on its own, or have no such call. */
async function tolerating({ isCounted, signal }: Tolerance, end: () => Promise<void>): Promise<void> {
  try {
    await end();
  } catch (error) {
    if (signal.aborted || !(error instanceof DomainError) || error.code === 'unreachable') throw error;
    if (isCounted) throw new DomainError(error.code, error.message, { retryable: true, cause: error });
  }
}
