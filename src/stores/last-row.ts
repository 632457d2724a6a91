import { parseJsonObject } from './json-lines';
import { openToRead } from './reading';

const TAIL_BYTES = 64 * 1024;

/** The last whole row of a JSONL file, read from its end: files grow long, and this is asked often. */
export async function readLastRow<Row extends object>(file: string): Promise<Row | null> {
  const lines = (await readTail(file)).split('\n');
  // What follows the last line break is empty, or a row that is being written.
  for (const line of lines.slice(0, -1).reverse()) {
    const row = parseJsonObject<Row>(line);
    if (row) return row;
  }
  return null;
}

/** The newest whole rows, as many as stand in the file's last 64 KB, oldest first. */
export async function readNewestRows<Row extends object>(file: string): Promise<Row[]> {
  const lines = (await readTail(file)).split('\n');
  return lines.slice(0, -1).flatMap((line) => parseJsonObject<Row>(line) ?? []);
}

async function readTail(path: string): Promise<string> {
  const file = await openToRead(path).catch(() => null);
  if (!file) return '';
  try {
    const { size } = await file.stat();
    const start = Math.max(0, size - TAIL_BYTES);
    const { buffer, bytesRead } = await file.read(
      Buffer.alloc(Math.min(size, TAIL_BYTES)),
      0,
      undefined,
      start,
    );
    return buffer.toString('utf8', 0, bytesRead);
  } finally {
    await file.close();
  }
}
