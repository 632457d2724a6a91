import { setTimeout as sleep } from 'node:timers/promises';
import type { ModelIncarnation } from '../core/training-plan';
import type { TinkerClient } from '../engines/tinker/client';

export interface KeepSessionOptions {
  readonly signal: AbortSignal;
  readonly intervalMs: number;
}

/** Keeps the service's session alive until aborted; throws `session-lost` when the service has ended it. */
export async function keepSession(
  client: TinkerClient,
  { sessionId }: Pick<ModelIncarnation, 'sessionId'>,
  { signal, intervalMs }: KeepSessionOptions,
): Promise<never> {
  for (;;) {
    await client.heartbeat(sessionId, { signal });
    await sleep(intervalMs, undefined, { signal });
  }
}
