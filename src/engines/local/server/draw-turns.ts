import { ProtocolError } from './protocol-error';

/** Sequences given to the runtime at a time: enough to fill the batches of every thread. */
const MOST_SEQUENCES = 256;
const MOST_WAITING = 4096;

interface Turn {
  readonly owner: string;
  readonly sequenceCount: number;
  readonly begin: () => void;
}

export interface DrawRequest {
  /** Whose turn it takes. */
  readonly owner: string;
  readonly sequenceCount: number;
  readonly signal: AbortSignal;
}

/**
 * Who draws next where more is asked for than is drawn at a time. Clients take turns, and each always has one
 * request under way, so that the many requests of one do not stand in front of the few of another.
 */
export class DrawTurns {
  private readonly waiting = new Map<string, Turn[]>();
  private readonly active = new Map<string, number>();
  private sequenceCount = 0;

  constructor(
    private readonly most: { readonly sequences: number; readonly waiting: number } = {
      sequences: MOST_SEQUENCES,
      waiting: MOST_WAITING,
    },
  ) {}

  /** Throws 429 for one who has too many requests waiting already. */
  requireRoom(owner: string): void {
    const count = this.waiting.get(owner)?.length ?? 0;
    if (count < this.most.waiting) return;
    throw new ProtocolError(429, `${count} sampling requests of ${owner} are waiting. Collect some first.`);
  }

  async take<Value>(request: DrawRequest, work: () => Promise<Value>): Promise<Value> {
    await this.turnOf(request);
    try {
      request.signal.throwIfAborted();
      return await work();
    } finally {
      this.sequenceCount -= request.sequenceCount;
      const count = (this.active.get(request.owner) ?? 1) - 1;
      if (count > 0) this.active.set(request.owner, count);
      else this.active.delete(request.owner);
      this.admit();
    }
  }

  /** Resolves when it is its turn, or when the request is cancelled: then it takes one at once, for nothing. */
  private turnOf({ owner, sequenceCount, signal }: DrawRequest): Promise<void> {
    return new Promise((resolve) => {
      const cancel = (): void => {
        this.leave(turn);
        this.begin(turn);
      };
      const begin = (): void => {
        signal.removeEventListener('abort', cancel);
        resolve();
      };
      const turn: Turn = { owner, sequenceCount, begin };
      signal.addEventListener('abort', cancel);
      const turns = this.waiting.get(owner);
      if (turns) turns.push(turn);
      else this.waiting.set(owner, [turn]);
      this.admit();
    });
  }

  private admit(): void {
    for (const owner of [...this.waiting.keys()]) if (!this.active.has(owner)) this.beginNextOf(owner);
    while (this.sequenceCount < this.most.sequences) {
      const [owner] = this.waiting.keys();
      if (owner === undefined) return;
      this.beginNextOf(owner);
    }
  }

  /** Its owner is last in turn now. */
  private beginNextOf(owner: string): void {
    const turns = this.waiting.get(owner) ?? [];
    const turn = turns.shift();
    this.waiting.delete(owner);
    if (turns.length > 0) this.waiting.set(owner, turns);
    if (turn) this.begin(turn);
  }

  private begin(turn: Turn): void {
    this.sequenceCount += turn.sequenceCount;
    this.active.set(turn.owner, (this.active.get(turn.owner) ?? 0) + 1);
    turn.begin();
  }

  private leave(turn: Turn): void {
    const others = (this.waiting.get(turn.owner) ?? []).filter((other) => other !== turn);
    if (others.length > 0) this.waiting.set(turn.owner, others);
    else this.waiting.delete(turn.owner);
  }
}
