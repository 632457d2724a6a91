import { ProtocolError } from './protocol-error';

export type UserMetadata = Readonly<Record<string, unknown>> | null;

/** Characters of JSON; in memory it is a few times as much. */
const MOST_LENGTH = 32 * 1024 * 1024;

/** What clients say of their sessions and models stays in memory as long as those do; this bounds all of it together. */
export class MetadataBudget {
  private total = 0;

  constructor(private readonly most: number = MOST_LENGTH) {}

  /** Throws 429 where there is no room for it. */
  take(metadata: UserMetadata): void {
    const length = lengthOf(metadata);
    if (this.total + length > this.most) {
      throw new ProtocolError(
        429,
        `user_metadata of open sessions and models comes to ${this.total} characters, and ${this.most} are kept. Send less of it, or finish sessions that are done.`,
      );
    }
    this.total += length;
  }

  give(metadata: UserMetadata): void {
    this.total -= lengthOf(metadata);
  }
}

function lengthOf(metadata: UserMetadata): number {
  return metadata === null ? 0 : JSON.stringify(metadata).length;
}
