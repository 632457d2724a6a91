import type { JsonObject } from './codec/json-values';
import { arrayFrom, objectFrom, stringFrom } from './codec/json-values';
import {
  checkpointRoute,
  deletionRoute,
  parseCheckpointPath,
  routePart,
  statePathOf,
} from './checkpoint-path';
import type { Connection } from './connection';
import type { Subject } from './failures';
import { failureOf, isRouteMissing } from './failures';
import type { WeightsCalls } from './weights-reader';
import { createWeightsReader } from './weights-reader';
import type { CallOptions } from './protocol-call';

interface RemoteCheckpoint {
  /** The address to restore or sample from. */
  readonly path: string;
  readonly checkpointId: string;
  readonly type: string;
  readonly time: string | null;
  readonly sizeBytes: number | null;
  readonly expiresAt: string | null;
}

export interface CheckpointCalls extends WeightsCalls {
  listCheckpoints(modelId: string, options?: CallOptions): Promise<readonly RemoteCheckpoint[]>;
  /** A checkpoint that is not there counts as deleted. */
  deleteCheckpoint(path: string, options?: CallOptions): Promise<void>;
  /** null means for ever. Does nothing where the server knows no expiry. */
  setTtl(path: string, seconds: number | null, options?: CallOptions): Promise<void>;
}

export function createCheckpointCalls(connection: Connection): CheckpointCalls {
  async function remove(path: string, { signal }: CallOptions): Promise<void> {
    const subject: Subject = { what: `checkpoint ${path}`, missing: 'checkpoint-missing' };
    const route = deletionRoute(path);
    const reply = await connection.send({ route, subject, method: 'DELETE', signal });
    const isGone = reply.status === 404 || reply.status === 410 || isRouteMissing(reply);
    if (reply.status >= 300 && !isGone) throw failureOf(reply, subject);
  }

  return {
    ...createWeightsReader(connection),

    async listCheckpoints(modelId, { signal } = {}) {
      const subject: Subject = { what: `checkpoints of ${modelId}`, missing: 'session-lost' };
      const route = `training_runs/${routePart(modelId)}/checkpoints`;
      const answer = await connection.request({ route, subject, method: 'GET', signal });
      return arrayFrom(answer['checkpoints'], 'checkpoints').map((item) =>
        checkpointFrom(objectFrom(item, 'checkpoint')),
      );
    },

    async deleteCheckpoint(path, options = {}) {
      const { detachesSnapshots } = await connection.profile(options);
      const isState = parseCheckpointPath(path).kind === 'weights';
      if (!detachesSnapshots && !isState) await remove(statePathOf(path), options);
      await remove(path, options);
    },

    async setTtl(path, seconds, { signal } = {}) {
      const profile = await connection.profile({ signal });
      if (!profile.supportsTtl) return;
      await connection.request({
        route: `${checkpointRoute(path, profile)}/ttl`,
        subject: { what: `checkpoint ${path}`, missing: 'checkpoint-missing' },
        method: 'PUT',
        body: { ttl_seconds: seconds },
        signal,
      });
    },
  };
}

function checkpointFrom(checkpoint: JsonObject): RemoteCheckpoint {
  const { size_bytes: size } = checkpoint;
  return {
    path: stringFrom(checkpoint['tinker_path'], 'tinker_path'),
    checkpointId: stringFrom(checkpoint['checkpoint_id'], 'checkpoint_id'),
    type: stringFrom(checkpoint['checkpoint_type'], 'checkpoint_type'),
    time: stringOrNull(checkpoint['time']),
    sizeBytes: typeof size === 'number' ? size : null,
    expiresAt: stringOrNull(checkpoint['expires_at']),
  };
}

function stringOrNull(value: unknown): string | null {
  return typeof value === 'string' ? value : null;
}
