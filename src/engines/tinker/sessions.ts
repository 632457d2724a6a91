import type { JsonObject } from './codec/json-values';
import { arrayFrom, isObject, stringFrom } from './codec/json-values';
import type { Connection } from './connection';
import type { Subject } from './failures';
import { failureOf, isRouteMissing } from './failures';
import type { CallOptions } from './protocol-call';
import { jsonOf, SDK_VERSION } from './protocol-call';

interface SessionSpec {
  readonly tags?: readonly string[];
  readonly userMetadata?: Readonly<Record<string, string>>;
}

/** Sessions hold models and samplers, and end when they are not heard of for some minutes. */
export interface SessionCalls {
  /** Asked twice, it opens two sessions; an abandoned one ends by itself. */
  createSession(spec?: SessionSpec, options?: CallOptions): Promise<string>;
  /** Throws `session-lost` once the session is gone. */
  heartbeat(sessionId: string, options?: CallOptions): Promise<void>;
  /** Does nothing where the session is gone already or the server has no such call. */
  finishSession(sessionId: string, reason: SessionEnd, options?: CallOptions): Promise<void>;
  /** Sessions of this key with what they were opened with; none where the server does not tell. */
  listSessions(options?: CallOptions): Promise<readonly OpenSession[]>;
}

interface OpenSession {
  readonly sessionId: string;
  readonly userMetadata: Readonly<Record<string, unknown>>;
}

type SessionEnd = 'success' | 'errored' | 'interrupted';

const HEARTBEAT_TIMEOUT_MS = 10_000;
/** Enough for what may be alive; some servers list every session there ever was. */
const LISTED_SESSIONS = 100;

export function createSessionCalls(connection: Connection): SessionCalls {
  return {
    async createSession(spec = {}, { signal } = {}) {
      const body: JsonObject = {
        tags: spec.tags ?? [],
        user_metadata: spec.userMetadata ?? {},
        sdk_version: SDK_VERSION,
        type: 'create_session',
      };
      const subject: Subject = { what: 'create_session', missing: 'engine-refused' };
      const answer = await connection.request({ route: 'create_session', subject, body, signal });
      return stringFrom(answer['session_id'], 'session_id');
    },

    async heartbeat(sessionId, { signal } = {}) {
      const subject: Subject = { what: `session ${sessionId}`, missing: 'session-lost' };
      const reply = await connection.send({
        route: 'session_heartbeat',
        subject,
        body: { session_id: sessionId, type: 'session_heartbeat' },
        timeoutMs: HEARTBEAT_TIMEOUT_MS,
        signal,
      });
      if (reply.status >= 300 && !isRouteMissing(reply)) throw failureOf(reply, subject);
    },

    async finishSession(sessionId, reason, { signal } = {}) {
      const subject: Subject = { what: `session ${sessionId}`, missing: 'session-lost' };
      const route = `sessions/${encodeURIComponent(sessionId)}/finish`;
      const reply = await connection.send({
        route,
        subject,
        body: { reason: { type: reason }, detail: '' },
        signal,
      });
      const isGone = [404, 405, 410].includes(reply.status);
      if (reply.status >= 300 && !isGone) throw failureOf(reply, subject);
    },

    listSessions: (options = {}) => listSessions(connection, options),
  };
}

async function listSessions(
  connection: Connection,
  { signal }: CallOptions,
): Promise<readonly OpenSession[]> {
  const subject: Subject = { what: 'sessions', missing: 'engine-refused' };
  const list = {
    route: `sessions?limit=${LISTED_SESSIONS}&offset=0`,
    subject,
    method: 'GET',
    signal,
  } as const;
  const reply = await connection.send(list);
  if (isRouteMissing(reply)) return [];
  if (reply.status >= 300) throw failureOf(reply, subject);
  const ids = arrayFrom(jsonOf(reply, subject)['sessions'], 'sessions');
  const sessions: OpenSession[] = [];
  for (const id of ids) {
    const sessionId = stringFrom(id, 'session id');
    const route = `sessions/${encodeURIComponent(sessionId)}`;
    const details = await connection.send({ route, subject, method: 'GET', signal });
    if (details.status >= 300) continue;
    const metadata = jsonOf(details, subject)['user_metadata'];
    sessions.push({ sessionId, userMetadata: isObject(metadata) ? metadata : {} });
  }
  return sessions;
}
