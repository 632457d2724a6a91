import type { RunFilter, RunPage, RunSummary } from '../../client/run-summary';
import { unreadableText } from '../../client/unknown-run';
import type { Session } from '../connect';
import { escapeControls } from '../escape-controls';
import { EXIT } from '../exit-codes';
import { formatNumber } from '../number-format';
import type { Output } from '../output';
import { printTable } from '../tables';
import { timeText } from '../time-text';

/** What fits a person's patience and a program's memory. */
export const LIST_LIMIT = 1000;
const NOTED_RUNS = 20;

export async function listRuns(
  { everstep, hasServer }: Session,
  output: Output,
  filter: RunFilter,
): Promise<number> {
  const { runs, matchCount, answeredBy, note, asStored, unreadable } = await everstep.runs.page(filter);
  const isCut = runs.length < matchCount;
  output.document({
    runs,
    ...(isCut && { matchCount }),
    ...(filter.where !== undefined && { answeredBy }),
    ...(asStored.length > 0 && { asStored }),
    ...(unreadable.length > 0 && { unreadable }),
  });
  if (note !== null) output.note(note);
  if (asStored.length > 0) output.note(asStoredText(asStored, hasServer));
  noteUnreadable(output, unreadable);
  if (isCut) output.note(`${runs.length} of ${matchCount} runs; --limit ${matchCount} shows all.`);
  if (runs.length === 0) {
    output.line(noRuns(filter, output));
    return EXIT.done;
  }
  const heading = ['run', 'kind', 'model', 'status', 'step', 'score', 'started (UTC)', 'closed (UTC)'];
  printTable(output, heading, runs.map(rowOf));
  return EXIT.done;
}

function asStoredText(runs: readonly string[], hasServer: boolean): string {
  const why = hasServer
    ? 'The Temporal server does not answer, or knows nothing of them'
    : 'No Temporal server is running';
  return `${why}: open runs are shown as the store last saw them (${runs.slice(0, NOTED_RUNS).join(', ')}).`;
}

/** Named in the list too: they are in the store, and nobody knows how they stand. */
function noteUnreadable(output: Output, unreadable: RunPage['unreadable']): void {
  for (const each of unreadable.slice(0, NOTED_RUNS)) output.note(escapeControls(unreadableText(each)));
  const more = unreadable.length - NOTED_RUNS;
  if (more > 0) output.note(`${more} more runs have a state that cannot be read; --json names them all.`);
}

function noRuns({ status, kind, model, where }: RunFilter, output: Output): string {
  const isFiltered = [status, kind, model, where].some((each) => each !== undefined);
  if (isFiltered) return `No such runs. All there are: ${output.hint('runs list')}`;
  return `No runs. Start one with: ${output.hint('train CONFIG')}`;
}

function rowOf(run: RunSummary): string[] {
  return [
    run.run,
    run.kind,
    run.model,
    run.status,
    `${run.step}/${run.totalSteps || '?'}`,
    scoreText(run),
    timeText(run.startedAt),
    run.closedAt === null ? '' : timeText(run.closedAt),
  ];
}

function scoreText({ score }: RunSummary): string {
  if (score?.value == null) return '';
  const { evaluator, metric } = score;
  return `${metric === 'accuracy' ? evaluator : `${evaluator} ${metric}`} ${formatNumber(score.value)}`;
}
