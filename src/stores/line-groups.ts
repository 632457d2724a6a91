import { readSync } from 'node:fs';
import { LineLimit } from './line-limit';

const GROUP_BYTES = 64 * 1024;
const LINE_BREAK = 10;

/**
 * Lines of an open file from its start, some at a time, so that a long file is never in memory as a whole and others
 * get their turn in between. Empty lines are left out; the last line may lack its line break. A file with a line that is too long for
 * any row is refused by its path.
 */
export function* readLineGroups(descriptor: number, path: string): Generator<readonly string[]> {
  const chunk = Buffer.alloc(GROUP_BYTES);
  const limit = new LineLimit(path);
  // Joined once its line ends, so that a line of many pieces is copied no more often than a short one.
  let rest: Buffer[] = [];
  let position = 0;
  for (;;) {
    const count = readSync(descriptor, chunk, 0, GROUP_BYTES, position);
    if (count === 0) break;
    position += count;
    limit.take(chunk.subarray(0, count));
    // A character may be cut in two at the end of what was read; a line break never is.
    const end = chunk.subarray(0, count).lastIndexOf(LINE_BREAK) + 1;
    if (end > 0) {
      yield linesOf(Buffer.concat([...rest, chunk.subarray(0, end)]));
      rest = [];
    }
    rest.push(Buffer.from(chunk.subarray(end, count)));
  }
  yield linesOf(Buffer.concat(rest));
}

function linesOf(bytes: Buffer): string[] {
  return bytes
    .toString('utf8')
    .split('\n')
    .filter((line) => line !== '');
}
