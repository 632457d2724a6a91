import { CUT_OFF } from '../../client/merge-scores';
import type { ReportedCell } from '../../client/partial-scores';
import type { ScoredCheckpoint } from '../../client/run-checkpoints';
import type { RunHandle } from '../../client/run-handle';
import { isClosed } from '../../client/run-report';
import type { ScoreRow } from '../../core/run';
import { shellWord } from '../../core/shell-word';
import { EXIT } from '../exit-codes';
import { formatNumber } from '../number-format';
import type { Output } from '../output';
import { scoreText } from '../score-text';
import { heardText } from '../score-tables';
import { printTable } from '../tables';

/** What is kept of a run's weights, and what each was measured at. */
export async function showCheckpoints(handle: RunHandle, output: Output): Promise<number> {
  await handle.status();
  const [checkpoints, best] = await Promise.all([handle.checkpoints(), handle.best()]);
  output.document({ run: handle.name, checkpoints, best });
  if (checkpoints.length === 0) {
    output.line('No checkpoints yet.');
    return EXIT.done;
  }
  const rows = checkpoints.map((checkpoint) => [
    String(checkpoint.step),
    checkpoint.name,
    remarksOf(checkpoint, best?.step === checkpoint.step),
    checkpoint.scores.map(shownScore).join(', '),
    checkpoint.sampler_path ?? checkpoint.state_path ?? '',
  ]);
  printTable(output, ['step', 'name', '', 'scores (95 %)', 'weights'], rows);
  return EXIT.done;
}

function remarksOf({ final, rolling, lineage }: ScoredCheckpoint, isBest: boolean): string {
  return [
    ...(isBest ? ['best'] : []),
    ...(final ? ['last'] : []),
    ...(rolling ? ['rolling'] : []),
    ...(lineage > 0 ? [`lineage ${lineage}`] : []),
  ].join(', ');
}

function shownScore(row: ScoreRow): string {
  return `${row.evaluator} ${row.metric} ${scoreText(row)}`;
}

/** Every evaluation, and what those under way have so far. */
export async function showEvaluations(handle: RunHandle, output: Output): Promise<number> {
  const report = await handle.status();
  const evaluations = await handle.evaluations();
  output.document({ run: handle.name, evaluations });
  if (evaluations.length === 0) {
    output.line('No evaluations yet.');
    return EXIT.done;
  }
  const rows = evaluations.map((cell) => [
    String(cell.step),
    cell.evaluator,
    cell.schedules.join(', '),
    cell.status,
    [partialText(cell), heardText(cell.heardAt).replace(', ', '')].filter((text) => text !== '').join(', ') ||
      (cell.error?.split('\n', 1)[0] ?? ''),
  ]);
  printTable(output, ['step', 'evaluator', 'schedules', 'status', ''], rows);
  if (isClosed(report) && evaluations.some(({ error }) => error === CUT_OFF.error)) {
    const command = output.hint(`train --run ${shellWord(report.run)} --continue`);
    output.note(`What was cut off is measured when the run goes on: ${command}`);
  }
  return EXIT.done;
}

function partialText({ partial }: ReportedCell): string {
  if (!partial) return '';
  const { done, value, interval } = partial;
  const range = interval === null ? '' : ` [${interval.map(formatNumber).join(', ')}]`;
  const so = value === null ? '' : `: ${formatNumber(value)}${range}`;
  return `partial, ${done} done${so}`;
}
