import type { EvalCell, EvalSummary } from '../../client/eval-list';
import { DomainError } from '../../core/errors';
import { openForReading } from '../connect';
import { escapeControls } from '../escape-controls';
import { formatNumber } from '../number-format';
import type { Output } from '../output';
import type { PlaceFlags } from '../service-options';
import { printTable } from '../tables';
import { timeText } from '../time-text';

const HEADING = ['run', 'benchmarks', 'model or checkpoint', 'status', 'done', 'score', 'started (UTC)'];

/** Every eval run, those that are only being planned among them, the newest first. */
export async function listResults(output: Output, flags: PlaceFlags): Promise<void> {
  const session = await openForReading(flags);
  try {
    const { store } = session.everstep;
    if (store.includes('://')) {
      throw new DomainError(
        'bad-config',
        `The store ${store} cannot be read from here. Give --store FOLDER.`,
      );
    }
    const runs = await session.everstep.evaluations.list();
    output.document({ runs: runs.map(runDocument) });
    if (runs.length === 0) output.line(`No eval runs in ${store}.`);
    else printTable(output, HEADING, runs.map(runCells));
    if (runs.some(({ status }) => status === 'unfinished')) {
      output.line(
        'Unfinished: a benchmark has no result, and nobody works on it. Give the command that began it again: it asks for what is missing, or says why it fails.',
      );
    }
    if (runs.some(({ cells }) => cells.some(({ status }) => status === 'damaged'))) {
      output.line(
        'Damaged: a result cannot be read, or trajectories are torn. Remove its result.json and give the command that began it again: it is written anew from the journal.',
      );
    }
  } finally {
    await session.close();
  }
}

function runDocument({ run, dir, model, checkpoint, status, done, total, startedAt, cells }: EvalSummary) {
  const scored = cells.filter((cell): cell is EvalCell & { readonly score: number } => isFinal(cell));
  return {
    run,
    dir,
    model,
    checkpoint,
    status,
    done,
    total,
    benchmarks: cells.map(({ benchmark }) => benchmark),
    scores: Object.fromEntries(scored.map(({ benchmark, score }) => [benchmark, score])),
    cells,
    startedAt,
  };
}

function runCells(run: EvalSummary): string[] {
  const { cells, checkpoint, model, status, done, total, startedAt } = run;
  return [
    escapeControls(run.run),
    cells.map(benchmarkText).join(', '),
    escapeControls(checkpoint ?? model),
    status,
    `${done}/${total ?? '?'}`,
    cells.map((cell) => scoreText(cell, cells.length > 1)).join(', '),
    startedAt === null ? '–' : timeText(startedAt),
  ];
}

/** A score of some examples is not taken for one of all. */
function benchmarkText({ benchmark, maxExamples }: EvalCell): string {
  return maxExamples === null ? benchmark : `${benchmark} (first ${maxExamples})`;
}

/** What is not final is marked; of several it is told which one. */
function scoreText(cell: EvalCell, isOneOfSeveral: boolean): string {
  if (cell.score === null) return isOneOfSeveral ? cell.status : '–';
  return isFinal(cell) ? formatNumber(cell.score) : `${formatNumber(cell.score)} so far`;
}

function isFinal({ score, status }: EvalCell): boolean {
  return score !== null && (status === 'finished' || status === 'partial');
}
