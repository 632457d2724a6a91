import { ProtocolError } from './protocol-error';

/** Cells of scores: 8 bytes each in memory, so 128 and 256 MiB. */
const MOST_PENDING = 2 ** 24;
const MOST_KEPT = 2 ** 25;
/** What keeping track of a result costs at least. */
const FEWEST_A_RESULT = 64;

interface ScoredRequest {
  readonly requestId: string;
  /** Of the result, as the future store knows it. */
  readonly owner: string;
  readonly cells: number;
}

/**
 * Bounds what scores beyond those of drawn tokens take, whoever asks for them: requests wait their turn with 429,
 * and the oldest results are forgotten first, which clients answer by asking again.
 */
export class ScoreMemory {
  private readonly kept = new Map<string, ScoredRequest>();
  private pendingCells = 0;
  private keptCells = 0;

  constructor(
    private readonly forget: (request: ScoredRequest) => void,
    private readonly limits: { readonly pending: number; readonly kept: number } = {
      pending: MOST_PENDING,
      kept: MOST_KEPT,
    },
  ) {}

  /** Refuses what does not fit beside the requests under way; one alone always does. */
  checkRoom(cells: number): void {
    if (cells === 0 || this.pendingCells === 0 || this.pendingCells + cells <= this.limits.pending) return;
    throw new ProtocolError(429, 'Too many scores are being computed. Send the request again in a second.');
  }

  track(request: ScoredRequest, work: Promise<unknown>): void {
    if (request.cells === 0) return;
    this.pendingCells += request.cells;
    const leave = (): void => {
      this.pendingCells -= request.cells;
    };
    work.then(() => {
      leave();
      this.keep({ ...request, cells: Math.max(request.cells, FEWEST_A_RESULT) });
    }, leave);
  }

  private keep(request: ScoredRequest): void {
    this.drop(request.requestId);
    this.kept.set(request.requestId, request);
    this.keptCells += request.cells;
    for (const oldest of this.kept.values()) {
      if (this.keptCells <= this.limits.kept || oldest === request) return;
      this.drop(oldest.requestId);
      this.forget(oldest);
    }
  }

  private drop(requestId: string): void {
    this.keptCells -= this.kept.get(requestId)?.cells ?? 0;
    this.kept.delete(requestId);
  }
}
