import { ProtocolError } from './protocol-error';

/** How many bodies are compared exactly; a resend older than that is taken to be one, and never executed again. */
const REMEMBERED = 20_000;

/** Which sequence numbers of one model are taken, and by what: the memory that makes a resent request free. */
export class AcceptedRequests {
  private readonly digests = new Map<number, string>();
  private forgottenThrough = 0;

  /** True for a resend. Throws 400 where the number is taken by another body. */
  isResend(sequence: number, digest: string): boolean {
    const known = this.digests.get(sequence);
    if (known === undefined) return sequence <= this.forgottenThrough;
    if (known === digest) return true;
    throw new ProtocolError(
      400,
      `seq_id ${sequence} was already used for a different request. Resend the identical body or use the next number.`,
    );
  }

  /** Only what has had its turn is forgotten: a number beyond others must not make them look like resends. */
  add(sequence: number, digest: string, hasPassed: (sequence: number) => boolean): void {
    this.digests.set(sequence, digest);
    if (this.digests.size <= REMEMBERED) return;
    for (const [oldest, kept] of this.digests) {
      this.digests.delete(oldest);
      if (hasPassed(oldest)) {
        this.forgottenThrough = Math.max(this.forgottenThrough, oldest);
        return;
      }
      this.digests.set(oldest, kept);
    }
  }

  clear(): void {
    this.digests.clear();
  }
}
