import { escapeControls } from '../core/escape-controls';

const LONGEST = 300;
/** What was written longer before the end than this has passed, and is not what it ended by. */
const LAST_WORDS_MS = 1000;

/**
 * Why a service ended, by what it wrote to its log until then: the last line that tells an error, as its own words, short and
 * safe to print. Null where no line does: one written more than a second before the end counts only where it is fatal.
 */
export function reasonOfEnd(log: string, endedAtMs: number): string | null {
  const lines = log.split('\n');
  let isOld = false;
  for (let index = lines.length - 1; index >= 0; index--) {
    const line = lines[index] ?? '';
    // A line that says no time was written before those below it.
    isOld ||= endedAtMs - timeOf(line) > LAST_WORDS_MS;
    const words = isOld && !isFatal(line) ? null : errorIn(line);
    if (words !== null) return shorten(escapeControls(words.trim()));
  }
  return null;
}

/** Of a service that a signal ended: what it wrote only because it ended, as where it ended itself; null where somebody else did. */
export function fatalWords(log: string): string | null {
  const words = errorIn(log.split('\n').findLast(isFatal) ?? '');
  return words === null ? null : shorten(escapeControls(words.trim()));
}

/** When a line was written; not a number where it does not say. */
function timeOf(line: string): number {
  const found = /^time=(\S+)/.exec(line) ?? /"time":"([^"]*)"/.exec(line);
  return Date.parse(found?.[1] ?? '');
}

/** What a program, or Node itself, says only where it ends by it. */
function isFatal(line: string): boolean {
  return /^everstep: |^FATAL ERROR: |^\{"level":60\b|\blevel=FATAL\b/.test(line);
}

/** In the forms that the parts write: the Temporal server's, the commands', Node's own and our logs'. */
function errorIn(line: string): string | null {
  if (line.startsWith('{')) return errorInJson(line);
  if (/\blevel=(?:ERROR|FATAL)\b/.test(line)) {
    const said = [...line.matchAll(/\b(?:error|msg)="((?:[^"\\]|\\.)*)/g)].at(-1);
    return said?.[1] ?? line;
  }
  return /^(?:everstep|\w*Error|FATAL ERROR): (.+)/.exec(line)?.[1] ?? null;
}

function errorInJson(line: string): string | null {
  try {
    const entry: unknown = JSON.parse(line);
    const level: unknown = fieldOf(entry, 'level');
    if (typeof level !== 'number' || level < 50) return null;
    const words = fieldOf(fieldOf(entry, 'err'), 'message') ?? fieldOf(entry, 'msg');
    return typeof words === 'string' ? (words.split('\n')[0] ?? null) : null;
  } catch {
    return null;
  }
}

function fieldOf(value: unknown, key: string): unknown {
  return typeof value === 'object' && value !== null ? Reflect.get(value, key) : undefined;
}

function shorten(words: string): string {
  return words.length > LONGEST ? `${words.slice(0, LONGEST - 1)}…` : words;
}
