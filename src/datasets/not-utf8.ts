import { constants, isUtf8 } from 'node:buffer';
import { DomainError } from '../core/errors';

const NEWLINE = 0x0a;

/** The text of a file that is read whole, without its byte order mark. */
export function decodeText(name: string, bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw bytes.length > constants.MAX_STRING_LENGTH && isUtf8(bytes) ? tooLong(name) : notUtf8(name, bytes);
  }
}

/** Refuses a file whose text is no text of this language. */
export function tooLong(name: string): DomainError {
  return new DomainError(
    'bad-dataset',
    `${name} is longer than 512 MiB, which is as much as is read of one file as a whole. Split it into several files, or convert it to .jsonl, which is read line by line.`,
  );
}

/** Names the first line that is none, unless all are, as in UTF-16. */
export function notUtf8(name: string, bytes?: Uint8Array): DomainError {
  const where = bytes ? ` (line ${firstBadLine(bytes)})` : '';
  return new DomainError(
    'bad-dataset',
    `${name} is not UTF-8 text${where}. Convert it, for example with iconv -t UTF-8.`,
  );
}

/** A line break is no part of a longer character. */
function firstBadLine(bytes: Uint8Array): number {
  let line = 1;
  for (let start = 0; start < bytes.length; line++) {
    const newline = bytes.indexOf(NEWLINE, start);
    const end = newline < 0 ? bytes.length : newline;
    if (!isUtf8(bytes.subarray(start, end))) return line;
    start = end + 1;
  }
  return line;
}
