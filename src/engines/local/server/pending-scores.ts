import { ProtocolError } from './protocol-error';

/** Cells of 8 bytes: 128 MiB. */
const MOST_PENDING = 2 ** 24;

/** Bounds what the scores under way take beyond those of drawn tokens, whoever asks for them. */
export class PendingScores {
  private cells = 0;

  constructor(private readonly most = MOST_PENDING) {}

  /** Throws 429, which clients answer by asking again, where there is no room beside others; one alone always has. */
  requireRoom(cells: number): void {
    if (cells === 0 || this.cells === 0 || this.cells + cells <= this.most) return;
    throw new ProtocolError(429, 'Too many scores are being computed. Send the request again in a second.');
  }

  track(cells: number, work: Promise<unknown>): void {
    this.cells += cells;
    const leave = (): void => {
      this.cells -= cells;
    };
    work.then(leave, leave);
  }
}
