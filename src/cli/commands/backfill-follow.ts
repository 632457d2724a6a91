import { anySignal } from '../../core/concurrency/any-signal';
import type { BackfillHandle, RunningCell } from '../../client/backfill-handle';
import { pause } from '../../client/pause';
import type { BackfillState } from '../../core/backfill';
import { checkpointLabel, countCells } from '../../core/backfill';
import type { Session } from '../connect';
import { escapeControls } from '../escape-controls';
import { EXIT, refusalOf } from '../exit-codes';
import { formatNumber } from '../number-format';
import type { Output } from '../output';
import { printMatrix } from './backfill-report';

interface FollowOptions {
  readonly session: Session;
  readonly output: Output;
  /** Ctrl-C: stop following. */
  readonly signal: AbortSignal;
}

const POLL_MS = 1000;
/** Without a terminal a line of progress is printed this often. */
const PLAIN_LINE_MS = 10_000;

/** Starts a backfill and shows how far it is until it has ended or the person has seen enough, and how it ended. */
export async function followBackfill(handle: BackfillHandle, options: FollowOptions): Promise<number> {
  const { output, signal } = options;
  const { checkpoints, benchmarks } = handle.request;
  const start = await handle.start();
  output.note(
    `Backfill ${handle.name}: ${checkpoints.length} checkpoints × ${benchmarks.length} benchmarks${start === 'started' ? '' : ', under way already'}.`,
  );
  if (start === 'older') {
    output.note(
      'It was begun with other checkpoints. Give the same command again after its end for the rest.',
    );
  }
  const over = new AbortController();
  const watching = watch(handle, output, anySignal([signal, over.signal]));
  const leaveWatch = async () => {
    over.abort();
    await watching;
    output.status(null);
  };
  try {
    const outcome = await handle.result({ signal });
    if (!outcome) return leave(options);
    await leaveWatch();
    if ('failure' in outcome) throw refusalOf(outcome.failure);
    return printEnd(outcome.value, output);
  } finally {
    await leaveWatch();
  }
}

async function watch(handle: BackfillHandle, output: Output, signal: AbortSignal): Promise<void> {
  const shown = new Set<string>();
  const period = output.isTerminal ? POLL_MS : PLAIN_LINE_MS;
  for (;;) {
    await pause(period, signal);
    if (signal.aborted) return;
    const [state, running, reasons] = await Promise.all([
      handle.state(),
      handle.running(),
      handle.waitingReasons(),
    ]);
    if (state) showProgress(state, running, output);
    for (const reason of reasons.filter((each) => !shown.has(each))) {
      output.note(`Waiting: ${escapeControls(reason)}`);
      shown.add(reason);
    }
  }
}

function showProgress({ cells }: BackfillState, running: readonly RunningCell[], output: Output): void {
  const { missing, unknown, running: underWay } = countCells(cells);
  const settled = cells.length - missing - unknown - underWay;
  const line = [`${settled}/${cells.length} cells`, ...running.map(runningText)].join('  ·  ');
  if (output.isTerminal) output.status(line.slice(0, output.columns - 1));
  else output.note(line);
}

/** Partial: of what is done so far. */
function runningText({ cell, progress }: RunningCell): string {
  const label = `${checkpointLabel(cell)} ${cell.benchmark}`;
  if (!progress) return label;
  const so = progress.score === null ? '' : `, so far ${formatNumber(progress.score)}`;
  return `${label} ${progress.done}/${progress.total}${so}`;
}

function leave({ session, output }: FollowOptions): number {
  output.note(
    session.isEmbedded
      ? 'Interrupted; nothing is lost. Give the same command again to go on.'
      : 'The backfill goes on. Give the same command again to follow it.',
  );
  return EXIT.interrupted;
}

function printEnd(state: BackfillState, output: Output): number {
  printMatrix(state, output);
  return state.cells.some(({ status }) => status === 'failed') ? EXIT.failed : EXIT.done;
}
