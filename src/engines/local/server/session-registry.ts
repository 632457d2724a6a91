import { randomUUID } from 'node:crypto';
import type { UserMetadata } from './metadata-budget';
import { MetadataBudget } from './metadata-budget';
import { ProtocolError } from './protocol-error';

/** Open at a time; more are a client that opens and never ends them. */
const MOST_OPEN = 10_000;
/** Ended ones that are still told from unknown ones. */
const MOST_ENDED = 10_000;

interface Session {
  readonly id: string;
  userMetadata: UserMetadata;
  lastHeartbeatAt: number;
  endedBecause: string | null;
  /** The number after every one taken so far. */
  readonly following: Record<Member, number>;
}

/** What belongs to a session and is numbered within it. */
type Member = 'model' | 'sampling';

/** Clients in touch. Only heartbeats keep a session alive; when it ends, everything in memory that belongs to it goes. */
export class SessionRegistry {
  private readonly sessions = new Map<string, Session>();
  /** The earliest first. */
  private readonly ended = new Set<string>();

  constructor(
    private readonly timeoutMs: number,
    private readonly onEnd: (sessionId: string, reason: string) => void,
    private readonly metadata = new MetadataBudget(),
  ) {}

  open(now: number, userMetadata: UserMetadata): string {
    const openCount = this.sessions.size - this.ended.size;
    if (openCount >= MOST_OPEN)
      throw new ProtocolError(429, `${openCount} sessions are open. Finish some, or wait until they expire.`);
    this.metadata.take(userMetadata);
    const id = randomUUID();
    this.sessions.set(id, {
      id,
      userMetadata,
      lastHeartbeatAt: now,
      endedBecause: null,
      following: { model: 0, sampling: 0 },
    });
    return id;
  }

  /** Those that have not ended, latest first. */
  list(): readonly string[] {
    return [...this.sessions.values()]
      .filter(({ endedBecause }) => endedBecause === null)
      .map(({ id }) => id)
      .reverse();
  }

  heartbeat(id: string, now: number): void {
    this.require(id).lastHeartbeatAt = now;
  }

  /** Throws 404 for a session this process never opened and 410 for one that ended. */
  require(id: string): Session {
    const session = this.sessions.get(id);
    if (!session) {
      throw new ProtocolError(
        404,
        `Session "${id.slice(0, 200)}" not found. Sessions end with the engine's process; open a new one.`,
      );
    }
    if (session.endedBecause !== null)
      throw new ProtocolError(410, `Session "${id}" has ended: ${session.endedBecause}.`);
    return session;
  }

  /** Takes the number asked for, or the one after all others where none was. */
  takeNumber(id: string, member: Member, asked: number | null): number {
    const { following } = this.require(id);
    const taken = asked ?? following[member];
    following[member] = Math.max(following[member], taken + 1);
    return taken;
  }

  finish(id: string, reason: string): void {
    const session = this.sessions.get(id);
    if (!session) throw new ProtocolError(404, `Session "${id.slice(0, 200)}" not found.`);
    this.end(session, `finished by its client (${reason})`);
  }

  expire(now: number): void {
    for (const session of this.sessions.values()) {
      if (now - session.lastHeartbeatAt <= this.timeoutMs) continue;
      this.end(session, `no heartbeat for ${this.timeoutMs / 1000} s`);
    }
  }

  private end(session: Session, reason: string): void {
    if (session.endedBecause !== null) return;
    session.endedBecause = reason;
    this.metadata.give(session.userMetadata);
    session.userMetadata = null;
    this.ended.add(session.id);
    const [earliest] = this.ended;
    if (this.ended.size > MOST_ENDED && earliest !== undefined) {
      this.ended.delete(earliest);
      this.sessions.delete(earliest);
    }
    this.onEnd(session.id, reason);
  }
}
