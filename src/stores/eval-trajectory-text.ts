import { escapeControls } from '../core/escape-controls';
import type { StoredTrajectory, StoredTurn } from './eval-store';
import { stopReasonOf } from './eval-store';
import { callLines } from './turn-calls';

interface TrajectoryTextOptions {
  /** Of each turn, 500 unless told; the rest is counted. */
  readonly maxCharacters?: number;
}

/** Of a turn; the rest is counted. */
const MOST_CALLS = 50;

export interface PrintOptions extends TrajectoryTextOptions {
  /** Receives each line without its line break; standard output unless told. */
  readonly write?: (line: string) => void;
}

/** Prints one trajectory for a person. Control characters in it are escaped, so that no model can steer a terminal. */
export function printTrajectory(trajectory: StoredTrajectory, options: PrintOptions = {}): void {
  const { write = writeLine, ...textOptions } = options;
  for (const line of trajectoryLines(trajectory, textOptions)) write(line);
}

function* trajectoryLines(
  trajectory: StoredTrajectory,
  { maxCharacters = 500 }: TrajectoryTextOptions,
): Generator<string> {
  yield headline(trajectory);
  for (const turn of trajectory.turns) yield* turnLines(turn, maxCharacters);
  if (trajectory.error !== null) yield* indented(`error: ${trajectory.error}`, maxCharacters);
  yield* indented(entries('metrics', trajectory.metrics), maxCharacters);
  yield* indented(entries('logs', trajectory.logs), maxCharacters);
}

function headline(trajectory: StoredTrajectory): string {
  const { benchmark, example_id, sample_index, reward, time_seconds } = trajectory;
  const stopReason = stopReasonOf(trajectory);
  const sample = sample_index === undefined ? '' : ` sample ${sample_index}`;
  return escapeControls(
    `${benchmark} ${example_id}${sample}: reward ${reward}, ${time_seconds.toFixed(1)} s${stopReason === null ? '' : `, ${stopReason}`}`,
  );
}

function* turnLines(turn: StoredTurn, maxCharacters: number): Generator<string> {
  const { role, content, token_count } = turn;
  yield escapeControls(`  [${role}, ${token_count} tokens]`);
  yield* indented(content, maxCharacters);
  const calls = callLines(turn);
  for (const line of calls.slice(0, MOST_CALLS)) yield* indented(line, maxCharacters);
  if (calls.length > MOST_CALLS) yield `    … ${calls.length - MOST_CALLS} more calls`;
}

function* indented(text: string, maxCharacters: number): Generator<string> {
  if (text === '') return;
  const characters = Array.from(text);
  const shown = characters.slice(0, maxCharacters).join('');
  for (const line of shown.split(/\r?\n/)) yield `    ${escapeControls(line)}`;
  if (characters.length > maxCharacters) yield `    … ${characters.length - maxCharacters} more characters`;
}

function entries(name: string, values: Readonly<Record<string, unknown>>): string {
  return Object.keys(values).length === 0 ? '' : `${name}: ${JSON.stringify(values)}`;
}

function writeLine(line: string): void {
  process.stdout.write(`${line}\n`);
}
