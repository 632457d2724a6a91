import type { Output } from './output';
import { linesOf } from './wrapped-rows';

/** The text begins in the column behind the widest name. */
interface Pair {
  readonly name: string;
  readonly text: string;
  readonly width: number;
}

/** A name and what is said of it, which goes on below itself where the terminal is narrower. A word that is longer, as paths are, stays whole. */
export function printPair(output: Output, { name, text, width }: Pair): void {
  const room = output.isTerminal ? Math.max(LEAST_ROOM, output.columns - width) : Infinity;
  for (const [index, line] of linesOf(text, room).entries())
    output.line(`${(index === 0 ? name : '').padEnd(width)}${line}`);
}

/** In a terminal that is narrower it wraps the lines itself. */
const LEAST_ROOM = 24;
