import { createWriteStream } from 'node:fs';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { ZipFile } from 'yazl';

/** Writes a zip archive member by member; only the one that is being written is in memory. */
export class ZipWriter {
  private readonly zip = new ZipFile();
  private readonly written: Promise<void>;
  private failure: unknown = null;

  constructor(
    path: string,
    private readonly mtime: Date,
  ) {
    this.written = pipeline(this.zip.outputStream, createWriteStream(path, { flags: 'wx' }));
    this.written.catch((error: unknown) => {
      this.failure = error ?? new Error('the archive could not be written');
    });
  }

  async add(name: string, content: unknown): Promise<void> {
    if (this.failure !== null) await this.written;
    const data = Buffer.from(JSON.stringify(content));
    const read = new Promise<void>((resolve) => {
      const options = { mtime: this.mtime, size: data.length, compress: true };
      this.zip.addReadStreamLazy(name, options, (give) => {
        const stream = Readable.from([data], { objectMode: false });
        stream.once('end', resolve);
        give(null, stream);
      });
    });
    // A file that cannot be written takes no more from the archive.
    await Promise.race([read, this.written]);
  }

  async end(): Promise<void> {
    this.zip.end();
    await this.written;
  }
}
