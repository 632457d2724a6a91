import { gzipSync } from 'node:zlib';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGunzip } from 'node:zlib';
import { extract, pack } from 'tar-stream';
import { malformed } from './codec/bytes';

export interface WeightsFile {
  readonly name: string;
  readonly bytes: Buffer;
}

/** The regular files of a tar.gz whose names `wanted` accepts. */
export async function unpackFiles(
  archive: Uint8Array,
  wanted: (name: string) => boolean,
): Promise<WeightsFile[]> {
  const files: WeightsFile[] = [];
  const untar = extract();
  const filling = pipeline(Readable.from([archive]), createGunzip(), untar);
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
    throw malformed('the weights are not a readable tar.gz', error);
  }
  return files;
}

export async function packFiles(files: readonly WeightsFile[]): Promise<Buffer> {
  const archive = pack();
  for (const { name, bytes } of files) archive.entry({ name, mtime: new Date(0) }, bytes);
  archive.finalize();
  const parts: Buffer[] = [];
  for await (const part of archive) if (Buffer.isBuffer(part)) parts.push(part);
  return gzipSync(Buffer.concat(parts));
}
