import type { RunHandle } from '../../client/run-handle';
import { changeText } from '../../client/control-text';
import { EXIT } from '../exit-codes';
import type { Output } from '../output';
import { printTable } from '../tables';
import { timeText } from '../time-text';

/** Everything that happened to a run, in the order of time. */
export async function showTimeline(handle: RunHandle, output: Output): Promise<number> {
  const entries = await handle.timeline();
  output.document({ run: handle.name, timeline: entries });
  const days = new Set(entries.map(({ at }) => at.slice(0, 10)));
  const rows = entries.map(({ at, step, kind, text }) => [
    days.size === 1 ? at.slice(11, 19) : timeText(at),
    String(step),
    kind,
    output.advice(text),
  ]);
  printTable(output, ['at (UTC)', 'step', 'what', ''], rows);
  return EXIT.done;
}

/** Changes people made, the oldest first. */
export async function showControls(handle: RunHandle, output: Output): Promise<number> {
  await handle.status();
  const controls = await handle.controls();
  output.document({ run: handle.name, controls });
  if (controls.length === 0) {
    output.line('Nothing was changed.');
    return EXIT.done;
  }
  const rows = controls.map((row) => [
    timeText(row.at),
    String(row.step),
    output.advice(changeText(row)),
    row.by,
    row.reason,
  ]);
  printTable(output, ['at (UTC)', 'step', 'what', 'by', 'why'], rows);
  return EXIT.done;
}
