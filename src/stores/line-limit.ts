import { DomainError } from '../core/errors';

const LINE_BREAK = 10;
const MEBIBYTE = 1024 * 1024;
/** Rows are far shorter. Files can be anybody's, and one of holes has a single row without end. */
export const LONGEST_ROW_BYTES = 64 * MEBIBYTE;
/** A text of this language holds no more. */
export const LONGEST_TEXT_BYTES = 512 * MEBIBYTE;

/** Looks at a file that is read in order, and refuses it by its path once a line of it is too long to be kept. */
export class LineLimit {
  private length = 0;

  constructor(
    private readonly path: string,
    private readonly mostBytes = LONGEST_ROW_BYTES,
  ) {}

  take(bytes: Uint8Array): void {
    const end = bytes.lastIndexOf(LINE_BREAK) + 1;
    this.length = bytes.length - end + (end > 0 ? 0 : this.length);
    if (this.length > this.mostBytes) throw lineTooLong(this.path, this.mostBytes);
  }
}

export function lineTooLong(path: string, mostBytes: number): DomainError {
  return new DomainError(
    'store-conflict',
    `${JSON.stringify(path)} has a line of more than ${mostBytes / MEBIBYTE} MiB, which no row of it can have. Move it away, and put the file back if there was one.`,
  );
}
