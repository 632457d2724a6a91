import { gzipSync } from 'node:zlib';
import { Readable, Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGunzip } from 'node:zlib';
import { extract, pack } from 'tar-stream';
import { malformed } from './codec/bytes';

export interface WeightsFile {
  readonly name: string;
  readonly bytes: Buffer;
}

/** Weights hardly get smaller in a gzip; those of an adapter that was never trained, half of them zeros, by three times. */
const MOST_GROWTH = 20;
/** What every archive may come to, however small. */
const ALWAYS_BYTES = 64 * 1024 * 1024;

/**
 * The regular files of a tar.gz whose names `wanted` accepts. Throws a `protocol-error` where it is none, or comes to far more
 * than weights do: more than 20 times its size and 64 MiB.
 */
export async function unpackFiles(
  archive: Uint8Array,
  wanted: (name: string) => boolean,
): Promise<WeightsFile[]> {
  const files: WeightsFile[] = [];
  const untar = extract();
  const most = Math.max(ALWAYS_BYTES, MOST_GROWTH * archive.byteLength);
  const filling = pipeline(Readable.from([archive]), createGunzip(), refusingBeyond(most), untar);
  const reading = (async () => {
    for await (const entry of untar) {
      const parts: Buffer[] = [];
      const isWanted = entry.header.type === 'file' && wanted(entry.header.name);
      for await (const part of entry) if (isWanted && Buffer.isBuffer(part)) parts.push(part);
      if (isWanted) files.push({ name: entry.header.name, bytes: Buffer.concat(parts) });
    }
  })();
  try {
    await Promise.all([filling, reading]);
  } catch (error) {
    if (error instanceof TooLarge) {
      throw malformed(
        `the weights unpack from ${archive.byteLength} to more than ${most} bytes, which no weights do; fetch them again, and if they are whole, the files one by one`,
      );
    }
    throw malformed('the weights are not a readable tar.gz', error);
  }
  return files;
}

class TooLarge extends Error {}

function refusingBeyond(most: number): Transform {
  let size = 0;
  return new Transform({
    transform(part: Uint8Array, _encoding, done) {
      size += part.byteLength;
      if (size > most) done(new TooLarge());
      else done(null, part);
    },
  });
}

export async function packFiles(files: readonly WeightsFile[]): Promise<Buffer> {
  const archive = pack();
  for (const { name, bytes } of files) archive.entry({ name, mtime: new Date(0) }, bytes);
  archive.finalize();
  const parts: Buffer[] = [];
  for await (const part of archive) if (Buffer.isBuffer(part)) parts.push(part);
  return gzipSync(Buffer.concat(parts));
}
