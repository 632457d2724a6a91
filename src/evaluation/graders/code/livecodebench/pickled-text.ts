import { inflateSync } from 'node:zlib';
import { hasErrorCode } from '../../../../core/error-code';
import { DomainError } from '../../../../core/errors';

/** Numbers, which tests are, come to five times their packed size; a few tests that repeat one character come to more. */
const UNPACKED = { ratio: 50, free: 64 * 1024 * 1024, most: 400 * 1024 * 1024 } as const;

/**
 * The text in a pickle that holds one text and nothing else, compressed and as base64: how the official files keep private tests.
 *
 * Pickles are programs. This one is not run: whatever it does beside saying its text is refused.
 */
export function readPickledText(encoded: string): string {
  return new TextPickle(inflated(encoded)).read();
}

function inflated(encoded: string): Buffer {
  const packed = Buffer.from(encoded, 'base64');
  const maxOutputLength = Math.min(UNPACKED.free + UNPACKED.ratio * packed.length, UNPACKED.most);
  try {
    return inflateSync(packed, { maxOutputLength });
  } catch (cause) {
    const isLarge = hasErrorCode(cause, 'ERR_BUFFER_TOO_LARGE');
    const what = isLarge ? `come to more than ${maxOutputLength} bytes unpacked` : 'are no compressed text';
    throw refused(what, cause);
  }
}

const PROTOCOL = 0x80;
const FRAME = 0x95;
const SHORT_TEXT = 0x8c;
const TEXT = 0x58;
const LONG_TEXT = 0x8d;
const MEMOIZE = 0x94;
const PUT = 0x71;
const LONG_PUT = 0x72;
const STOP = 0x2e;
/** How many bytes follow an instruction that says nothing of the text. */
const PASSED_OVER: Readonly<Record<number, number>> = {
  [PROTOCOL]: 1,
  [FRAME]: 8,
  [MEMOIZE]: 0,
  [PUT]: 1,
  [LONG_PUT]: 4,
};

class TextPickle {
  private position = 0;
  private text: string | null = null;

  constructor(private readonly bytes: Buffer) {}

  read(): string {
    for (;;) {
      const code = this.take(1).readUInt8();
      if (code === STOP) break;
      this.obey(code);
    }
    if (this.text === null || this.position !== this.bytes.length) throw refused('are no single text');
    return this.text;
  }

  private obey(code: number): void {
    const skipped = PASSED_OVER[code];
    if (skipped !== undefined) {
      this.take(skipped);
      return;
    }
    const length = this.textLength(code);
    if (length === null || this.text !== null) throw refused('hold more than a text, and are not run');
    this.text = this.take(length).toString('utf8');
  }

  private textLength(code: number): number | null {
    if (code === SHORT_TEXT) return this.take(1).readUInt8();
    if (code === TEXT) return this.take(4).readUInt32LE();
    return code === LONG_TEXT ? Number(this.take(8).readBigUInt64LE()) : null;
  }

  private take(count: number): Buffer {
    const end = this.position + count;
    if (end > this.bytes.length) throw refused('end in the middle');
    const taken = this.bytes.subarray(this.position, end);
    this.position = end;
    return taken;
  }
}

function refused(what: string, cause?: unknown): DomainError {
  return new DomainError(
    'bad-dataset',
    `example: its private tests ${what}. Give the row as the publisher has it, or the tests as a list.`,
    { cause },
  );
}
