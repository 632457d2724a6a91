import { createHash } from 'node:crypto';
import { open, readFile, rename } from 'node:fs/promises';
import type { Datum } from '../core/datum';
import { DomainError } from '../core/errors';
import { temporaryName } from '../stores/whole-file';

/**
 * The training split as tokens, frozen in the run's folder when the run is prepared.
 *
 * Every worker that ever takes part reads the same bytes, whatever happens to the dataset it came from,
 * and starts without rendering anything again.
 *
 * Layout of the file: `EVDATA1\n`, header length (uint32 LE), header (JSON, padded with spaces to 8 bytes), then
 * little-endian arrays: offsets f64[count+1], countedBytes f64[count], tokens i32[total], targets i32[total],
 * weights f32[total], counted u8[total].
 */
export interface PreparedExample {
  readonly datum: Datum;
  /** UTF-8 bytes of the tokens that count for bits per byte. */
  readonly countedBytes: number;
  /** 1 where the target token counts for bits per byte: it carries loss and is not special. */
  readonly counted: Uint8Array;
}

interface Header {
  readonly exampleCount: number;
  readonly tokenCount: number;
  readonly dataHash: string;
}

const MAGIC = 'EVDATA1\n';

/** Writes the file under a temporary name and renames it. Returns the hash of its content. */
export async function writePreparedData(path: string, examples: readonly PreparedExample[]): Promise<string> {
  const arrays = packArrays(examples);
  const body = Object.values(arrays).map((array) =>
    Buffer.from(array.buffer, array.byteOffset, array.byteLength),
  );
  const hash = createHash('sha256');
  for (const part of body) hash.update(part);
  const dataHash = hash.digest('hex');

  const header: Header = { exampleCount: examples.length, tokenCount: arrays.tokens.length, dataHash };
  const temporary = temporaryName(path);
  const file = await open(temporary, 'w');
  try {
    await file.writev([encodeHeader(header), ...body]);
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(temporary, path);
  return dataHash;
}

function packArrays(examples: readonly PreparedExample[]) {
  const total = examples.reduce((sum, example) => sum + example.datum.tokens.length, 0);
  const arrays = {
    offsets: new Float64Array(examples.length + 1),
    countedBytes: Float64Array.from(examples, (example) => example.countedBytes),
    tokens: new Int32Array(total),
    targets: new Int32Array(total),
    weights: new Float32Array(total),
    counted: new Uint8Array(total),
  };
  let offset = 0;
  examples.forEach(({ datum, counted }, index) => {
    arrays.tokens.set(datum.tokens, offset);
    arrays.targets.set(datum.targetTokens, offset);
    arrays.weights.set(datum.lossInputs['weights'] ?? [], offset);
    arrays.counted.set(counted, offset);
    offset += datum.tokens.length;
    arrays.offsets[index + 1] = offset;
  });
  return arrays;
}

function encodeHeader(header: Header): Buffer {
  const text = JSON.stringify(header);
  const padded = text.padEnd(Math.ceil((MAGIC.length + 4 + text.length) / 8) * 8 - MAGIC.length - 4);
  const length = Buffer.alloc(4);
  length.writeUInt32LE(padded.length);
  return Buffer.concat([Buffer.from(MAGIC), length, Buffer.from(padded)]);
}

export class PreparedData {
  private constructor(
    readonly header: Header,
    private readonly arrays: ReturnType<typeof packArrays>,
  ) {}

  static async load(path: string): Promise<PreparedData> {
    const file = await readFile(path);
    if (file.toString('latin1', 0, MAGIC.length) !== MAGIC) {
      throw new DomainError('bad-dataset', `${path} is not prepared training data. Start the run anew.`);
    }
    const headerLength = file.readUInt32LE(MAGIC.length);
    const start = MAGIC.length + 4 + headerLength;
    // The header is written by writePreparedData alone and its hash covers the arrays that are read with it.
    // oxlint-disable-next-line typescript/consistent-type-assertions
    const header = JSON.parse(file.toString('utf8', MAGIC.length + 4, start)) as Header;
    return new PreparedData(header, readArrays(file.subarray(start), header));
  }

  get exampleCount(): number {
    return this.header.exampleCount;
  }

  example(index: number): PreparedExample {
    const { offsets, countedBytes, tokens, targets, weights, counted } = this.arrays;
    const from = offsets[index] ?? 0;
    const to = offsets[index + 1] ?? 0;
    return {
      datum: {
        tokens: tokens.subarray(from, to),
        targetTokens: targets.subarray(from, to),
        lossInputs: { weights: weights.subarray(from, to) },
      },
      countedBytes: countedBytes[index] ?? 0,
      counted: counted.subarray(from, to),
    };
  }

  tokenCountOf(index: number): number {
    return (this.arrays.offsets[index + 1] ?? 0) - (this.arrays.offsets[index] ?? 0);
  }
}

function readArrays(body: Buffer, { exampleCount, tokenCount }: Header): ReturnType<typeof packArrays> {
  // A copy, because a view into Node's pooled buffers may not be aligned.
  const bytes = new Uint8Array(body).buffer;
  const expected = (2 * exampleCount + 1) * 8 + tokenCount * 13;
  if (bytes.byteLength !== expected) {
    throw new DomainError(
      'bad-dataset',
      `Prepared training data has ${bytes.byteLength} bytes where ${expected} were expected. Start the run anew.`,
    );
  }
  const countedBytesAt = (exampleCount + 1) * 8;
  const tokensAt = countedBytesAt + exampleCount * 8;
  return {
    offsets: new Float64Array(bytes, 0, exampleCount + 1),
    countedBytes: new Float64Array(bytes, countedBytesAt, exampleCount),
    tokens: new Int32Array(bytes, tokensAt, tokenCount),
    targets: new Int32Array(bytes, tokensAt + 4 * tokenCount, tokenCount),
    weights: new Float32Array(bytes, tokensAt + 8 * tokenCount, tokenCount),
    counted: new Uint8Array(bytes, tokensAt + 12 * tokenCount, tokenCount),
  };
}
