import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { Pool } from 'undici';
import type { EndpointAddress } from './endpoint-address';
import type { MaxTokensField } from './dialect';
import { Limiter } from './limiter';
import { Outage } from './outage';
import { SharedLimit } from './shared-limit';

export interface LaneOptions {
  readonly address: EndpointAddress;
  readonly model: string;
  readonly concurrency: number;
  readonly sharedFolder: string | undefined;
  readonly maxTokensField: MaxTokensField;
}

/** What all users of one model at one endpoint have in common in this process. */
export interface EndpointLane {
  readonly pool: Pool;
  readonly limiter: Limiter;
  readonly outage: Outage;
  /** What the server is known to take. */
  maxTokensField: MaxTokensField;
  sharing: SharedLimit | null;
}

const CONNECT_TIMEOUT_MS = 10_000;

/**
 * Shared by the whole process on purpose: a server's limit does not know which of our shards or benchmarks a request
 * came from, so neither may the limiter.
 */
const lanes = new Map<string, { readonly lane: EndpointLane; userCount: number }>();

/** Joins the lane of an endpoint's model; the last one who leaves closes it. */
export function openLane(options: LaneOptions): {
  readonly lane: EndpointLane;
  leave(): Promise<void>;
} {
  const key = `${options.address.shown}${options.address.search}\n${options.model}`;
  const entry = lanes.get(key) ?? { lane: createLane(options), userCount: 0 };
  const { lane } = entry;
  lanes.set(key, entry);
  entry.userCount += 1;
  lane.limiter.addCeiling(options.concurrency);
  if (options.sharedFolder !== undefined) {
    lane.sharing ??= new SharedLimit(join(options.sharedFolder, digest(key)), lane.limiter);
  }
  return {
    lane,
    async leave() {
      entry.userCount -= 1;
      lane.limiter.removeCeiling(options.concurrency);
      if (entry.userCount > 0) return;
      lanes.delete(key);
      lane.limiter.close();
      await Promise.all([lane.sharing?.close(), lane.pool.destroy()]);
    },
  };
}

function createLane({ address, maxTokensField }: LaneOptions): EndpointLane {
  const lane: EndpointLane = {
    // As many connections as the limiter lets requests through.
    pool: new Pool(address.origin, { connections: null, connect: { timeout: CONNECT_TIMEOUT_MS } }),
    limiter: new Limiter(() => lane.sharing?.tell()),
    outage: new Outage(),
    maxTokensField,
    sharing: null,
  };
  return lane;
}

/** Addresses hold characters that file names may not. */
function digest(key: string): string {
  return createHash('sha256').update(key).digest('hex').slice(0, 16);
}
