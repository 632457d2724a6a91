import type { FileHandle } from 'node:fs/promises';
import { parseJsonObject } from './json-lines';
import { readLastRow } from './last-row';
import { LineLimit } from './line-limit';
import { openToRead } from './reading';

interface StepRange {
  readonly from?: number;
  readonly to?: number;
}

/** Which rows of a long file are wanted. One of `last`, `every`, `points` and `steps` within the range. */
export interface StepSelection extends StepRange {
  /** The newest ones, so many. */
  readonly last?: number;
  /** Steps that are a multiple of this, the first and the last. */
  readonly every?: number;
  /** So many rows, evenly spread, the first and the last among them; rows as they were written, not means. */
  readonly points?: number;
  /** These steps alone. */
  readonly steps?: readonly number[];
}

interface SteppedRow {
  readonly step: number;
}

const CHUNK_BYTES = 256 * 1024;
/** Enough for a row or two. */
const GLANCE_BYTES = 8 * 1024;
/** A range this short is read through rather than halved further. */
const NEAR_BYTES = 64 * 1024;
/** Where our writers put it. */
const LEADING_STEP = /^\{"step":(\d{1,15})[,}]/;

/**
 * Rows of a JSONL file that ascends by step, without reading or parsing what is not wanted: the begin of a range is found by
 * halving, and of the rows within it only those that are wanted are parsed.
 */
export async function readStepRows<Row extends SteppedRow>(
  path: string,
  selection: StepSelection = {},
): Promise<Row[]> {
  const file = await openToRead(path);
  if (!file) return [];
  try {
    const { size } = await file.stat();
    const opened = { file, path };
    const wanted = await wantedSteps(opened, { size, selection });
    return await scan<Row>(opened, { size, ...wanted });
  } finally {
    await file.close();
  }
}

interface OpenedRows {
  readonly file: FileHandle;
  readonly path: string;
}

/** Says of each step, in ascending order, whether its row is wanted. */
type Chooser = (step: number) => boolean;

interface Wanted {
  readonly from: number;
  readonly to: number;
  readonly isWanted: Chooser;
}

interface Asked {
  readonly size: number;
  readonly selection: StepSelection;
}

const EVERY_ROW: Chooser = () => true;

async function wantedSteps(opened: OpenedRows, asked: Asked): Promise<Wanted> {
  const { from = 0, to = Infinity, last, steps } = asked.selection;
  if (steps) return listed(steps.filter((step) => step >= from && step <= to));
  const spaced = await spacedSteps(opened, asked);
  if (spaced) return { from, to, isWanted: spaced };
  if (last === undefined) return { from, to, isWanted: EVERY_ROW };
  const end = Math.min(to, await newestStep(opened.path));
  return { from: Math.max(from, end - last + 1), to, isWanted: EVERY_ROW };
}

function listed(steps: readonly number[]): Wanted {
  const set = new Set(steps);
  const from = steps.reduce((low, step) => Math.min(low, step), Infinity);
  const to = steps.reduce((high, step) => Math.max(high, step), -1);
  return { from, to, isWanted: (step) => set.has(step) };
}

/** null where rows are not thinned out. */
async function spacedSteps(opened: OpenedRows, { size, selection }: Asked): Promise<Chooser | null> {
  const { from = 0, to = Infinity, every, points } = selection;
  if (every === undefined && points === undefined) return null;
  const end = Math.min(to, await newestStep(opened.path));
  const begin = Math.max(from, (await firstStep(opened, size)) ?? 0);
  return every === undefined ? nextTarget(spread(begin, end, points ?? 1)) : multiples(begin, end, every);
}

async function newestStep(path: string): Promise<number> {
  const step: unknown = (await readLastRow<SteppedRow>(path))?.step;
  return typeof step === 'number' ? step : 0;
}

/** The first row, that at or after each multiple, and the last; however far apart rows say that they are. */
function multiples(begin: number, end: number, every: number): Chooser {
  let target = begin;
  return (step) => {
    if (step < target) return false;
    target = step >= end ? Infinity : Math.min(end, (Math.floor(step / every) + 1) * every);
    return true;
  };
}

function* spread(begin: number, end: number, points: number): Generator<number> {
  if (points === 1) {
    yield end;
    return;
  }
  for (let index = 0; index < points; index++) {
    yield Math.round(begin + (index * (end - begin)) / (points - 1));
  }
}

/** The first row at or after each target; targets ascend as rows do. */
function nextTarget(targets: Iterator<number>): Chooser {
  let target = targets.next();
  return (step) => {
    if (target.done || step < target.value) return false;
    while (!target.done && target.value <= step) target = targets.next();
    return true;
  };
}

interface Scan extends Wanted {
  readonly size: number;
}

async function scan<Row extends SteppedRow>(
  opened: OpenedRows,
  { size, from, to, isWanted }: Scan,
): Promise<Row[]> {
  const rows: Row[] = [];
  const start = from > 0 ? await findBegin(opened, size, from) : 0;
  for await (const lines of linesFrom(opened, start)) {
    const { chosen, isPast } = chooseLines(lines, { from, to, isWanted });
    for (const line of chosen) {
      const row = parseJsonObject<Row>(line);
      if (row) rows.push(row);
    }
    if (isPast) break;
  }
  return rows;
}

/** `isPast`: the range ends within them. */
function chooseLines(
  lines: readonly string[],
  { from, to, isWanted }: Wanted,
): { readonly chosen: readonly string[]; readonly isPast: boolean } {
  const chosen: string[] = [];
  for (const line of lines) {
    const step = stepOf(line);
    if (step === null || step < from) continue;
    if (step > to) return { chosen, isPast: true };
    if (isWanted(step)) chosen.push(line);
  }
  return { chosen, isPast: false };
}

/** A place at or before the first row of this step, at the begin of a line. */
async function findBegin(opened: OpenedRows, size: number, from: number): Promise<number> {
  let [low, high] = [0, size];
  while (high - low > NEAR_BYTES) {
    const middle = Math.floor((low + high) / 2);
    const found = await rowAfter(opened, middle);
    if (found === null || found.start >= high || found.step >= from) high = middle;
    else low = found.start;
  }
  return low;
}

/** The first whole line that begins after an offset and has a step. */
async function rowAfter(
  opened: OpenedRows,
  offset: number,
): Promise<{ readonly start: number; readonly step: number } | null> {
  let start = offset;
  let isFirst = true;
  for await (const lines of linesFrom(opened, offset, GLANCE_BYTES)) {
    for (const line of lines) {
      const step = isFirst ? null : stepOf(line);
      if (step !== null) return { start, step };
      isFirst = false;
      start += Buffer.byteLength(line) + 1;
    }
  }
  return null;
}

async function firstStep(opened: OpenedRows, size: number): Promise<number | null> {
  if (size === 0) return null;
  for await (const lines of linesFrom(opened, 0, GLANCE_BYTES)) {
    for (const line of lines) {
      const step = stepOf(line);
      if (step !== null) return step;
    }
  }
  return null;
}

/** Lines that end with a line break, some hundred at a time; a last one without is being written. */
async function* linesFrom(
  { file, path }: OpenedRows,
  offset: number,
  chunkBytes = CHUNK_BYTES,
): AsyncGenerator<string[]> {
  const limit = new LineLimit(path);
  // Joined once its line ends.
  let rest: Buffer[] = [];
  let position = offset;
  for (;;) {
    const { buffer, bytesRead } = await file.read(Buffer.allocUnsafe(chunkBytes), 0, chunkBytes, position);
    if (bytesRead === 0) return;
    position += bytesRead;
    const chunk = buffer.subarray(0, bytesRead);
    limit.take(chunk);
    const end = chunk.lastIndexOf(0x0a);
    if (end >= 0) {
      yield Buffer.concat([...rest, chunk.subarray(0, end)])
        .toString('utf8')
        .split('\n');
      rest = [];
    }
    rest.push(chunk.subarray(end + 1));
  }
}

/** Read without parsing the row where our writers wrote it. */
function stepOf(line: string): number | null {
  const [, digits] = LEADING_STEP.exec(line) ?? [];
  if (digits !== undefined) return Number(digits);
  const step = parseJsonObject<SteppedRow>(line)?.step;
  // One that no run reaches would end a range before the rows behind it.
  return step !== undefined && Number.isSafeInteger(step) ? step : null;
}
