import { randomInt } from 'node:crypto';
import { DomainError } from '../../core/errors';
import type { Sampler } from '../../core/sampling';
import type { SamplingCalls, SamplingSource } from './sampling';
import type { SessionCalls } from './sessions';
import type { LentWeights, SnapshotCalls } from './snapshot-model';

export type SamplerSpec = SamplingSource & {
  /** Opened for it, and ended with it; it opens one itself where none is given, or once that one is lost. */
  readonly sessionId?: string | undefined;
  /** Its samples are for whoever waits for them: a signal that fires ends the drawing too, where the service can. */
  readonly isCancelledWithSignal?: boolean;
};

/** A sampler that looks after its session, which `close` ends. */
export interface TinkerSampler extends Sampler {
  /** Opens its sampling session, which the first sample does otherwise. */
  open(): Promise<void>;
  close(): Promise<void>;
}

interface OpenSession {
  readonly samplingSessionId: string;
  readonly weights: LentWeights;
  readonly sessionId: string;
}

type Calls = SessionCalls & SamplingCalls & SnapshotCalls;

const REOPEN_LIMIT = 3;
const HEARTBEAT_MS = 10_000;
const LARGEST_SEQ_ID = 2 ** 31 - 1;

/**
 * Opens its sampling session with the first sample, keeps its own session alive while samples are in
 * flight, and opens a new one when the server lost it.
 */
export function createTinkerSampler(calls: Calls, spec: SamplerSpec): TinkerSampler {
  let opening: Promise<OpenSession> | null = null;
  let preparedSessionId = spec.sessionId;
  const { isCancelledWithSignal = false } = spec;

  /** One opening is shared by all samples that wait for it; a failed one is forgotten. */
  function current(): Promise<OpenSession> {
    opening ??= openSession(calls, spec, preparedSessionId).catch((error: unknown) => {
      opening = null;
      throw error;
    });
    return opening;
  }

  function forget(lost: Promise<OpenSession>): void {
    if (opening === lost) opening = null;
  }

  async function withSession<Result>(use: (session: OpenSession) => Promise<Result>): Promise<Result> {
    for (let attemptCount = 1; ; attemptCount++) {
      const session = current();
      try {
        return await use(await session);
      } catch (error) {
        if (!isLost(error) || attemptCount > REOPEN_LIMIT) throw error;
        forget(session);
        preparedSessionId = undefined;
      }
    }
  }

  const heart = createHeart(async () => {
    const session = await opening?.catch(() => null);
    // A lost session shows in the next sample, which opens another.
    if (session) await calls.heartbeat(session.sessionId).catch(() => undefined);
  });

  return {
    async sample(request, { signal } = {}) {
      heart.begin();
      try {
        return await withSession(({ samplingSessionId }) =>
          calls.sample({ samplingSessionId, request, isCancelledWithSignal }, { signal }),
        );
      } finally {
        heart.end();
      }
    },

    async open() {
      await withSession(() => Promise.resolve());
    },

    async close() {
      const closing = opening;
      opening = null;
      const session = await closing?.catch(() => null);
      await session?.weights.release();
      const sessionId = session?.sessionId ?? preparedSessionId;
      if (sessionId !== undefined) await calls.finishSession(sessionId, 'success');
    },
  };
}

async function openSession(
  calls: Calls,
  source: SamplingSource,
  preparedSessionId: string | undefined,
): Promise<OpenSession> {
  const sessionId = preparedSessionId ?? (await calls.createSession({ tags: ['sampler'] }));
  const weights = await calls.lendWeights({ source, sessionId });
  try {
    // Samplers of several processes may share a session; a number of its own keeps their requests apart.
    const samplingSessionSeqId = randomInt(LARGEST_SEQ_ID);
    const spec = { ...weights.source, sessionId, samplingSessionSeqId };
    const samplingSessionId = await calls.createSamplingSession(spec);
    return { samplingSessionId, weights, sessionId };
  } catch (error) {
    await weights.release();
    throw error;
  }
}

/** Beats while anything is in flight, so that an idle sampler keeps no process alive and no session open. */
function createHeart(beat: () => Promise<void>): { begin(): void; end(): void } {
  let inFlightCount = 0;
  let timer: NodeJS.Timeout | undefined;
  return {
    begin() {
      inFlightCount += 1;
      timer ??= setInterval(() => void beat(), HEARTBEAT_MS).unref();
    },
    end() {
      inFlightCount -= 1;
      if (inFlightCount > 0) return;
      clearInterval(timer);
      timer = undefined;
    },
  };
}

function isLost(error: unknown): boolean {
  return error instanceof DomainError && error.code === 'session-lost';
}
