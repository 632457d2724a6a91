import { join } from 'node:path';
import { DomainError } from '../core/errors';
import { parseJsonObject } from './json-lines';
import { readWholeFile } from './reading';
import * as rows from './run-rows';

type Judge = (line: string) => boolean;

const MOST_LINES_NAMED = 5;

const FILES: Readonly<Record<string, Judge>> = {
  'metrics.jsonl': lineOf(rows.isMetricsRow),
  'scores.jsonl': lineOf(rows.isScoreRow),
  'checkpoints.jsonl': lineOf(rows.isCheckpointRow),
  'controls.jsonl': lineOf(rows.isControlRow),
  'events.jsonl': lineOf(rows.isEventRow),
};

/**
 * What readers of a run's journals pass over, in a sentence a file: lines that are no rows, as after an edit or a damaged disk. None
 * where all is well. The last line may be about to be written and is not counted.
 */
export async function findRunDamage(runFolder: string): Promise<readonly string[]> {
  const found = await Promise.all(
    Object.entries(FILES).map(([file, isRow]) => damageIn(join(runFolder, file), isRow)),
  );
  return found.flat();
}

async function damageIn(path: string, isRow: Judge): Promise<readonly string[]> {
  const text = await textOf(path);
  if (text instanceof DomainError) return [text.message];
  const lines = text.split('\n').slice(0, -1);
  const wrong = lines.flatMap((line, index) => (isRow(line) ? [] : [index + 1]));
  if (wrong.length === 0) return [];
  const named = wrong.slice(0, MOST_LINES_NAMED).join(', ');
  const which = wrong.length > MOST_LINES_NAMED ? `${named}, …` : named;
  const what = wrong.length === 1 ? 'line is' : 'lines are';
  return [
    `${path} is damaged: ${wrong.length} ${what} left out (${which}). Put the file back from a copy, if there is one.`,
  ];
}

/** What is no file in its place says so. */
async function textOf(path: string): Promise<string | DomainError> {
  try {
    return (await readWholeFile(path)) ?? '';
  } catch (error) {
    if (error instanceof DomainError) return error;
    throw error;
  }
}

// What a line is parsed to is what its judge takes.
// oxlint-disable-next-line typescript/no-unnecessary-type-parameters
function lineOf<Row extends object>(isRow: (row: Row) => boolean): Judge {
  return (line) => {
    const row = parseJsonObject<Row>(line);
    return row !== null && isRow(row);
  };
}
