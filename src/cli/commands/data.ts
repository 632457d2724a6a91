import { Command } from 'commander';
import { showTrainingData } from '../../client/show-data';
import { loadTrainingConfig } from '../../config/load-config';
import type { TrainingConfig } from '../../config/training-config';
import { countListed, othersText } from '../../core/bad-row-list';
import type { DataSummary } from '../../core/data-summary';
import { DataTotals, summaryText, trainedCount } from '../../core/data-summary';
import type { DataRow, HeldOutRows, RefusedRow, RenderedRow } from '../../training/shown-row';
import { escapeControls } from '../escape-controls';
import { EXIT } from '../exit-codes';
import type { Output } from '../output';
import { openOutput } from '../output';
import { parseCount } from '../service-options';
import { print } from '../whole-output';
import { repeated } from '../repeated-option';

interface ShowFlags {
  readonly limit?: number;
  readonly set?: readonly string[];
  readonly json?: boolean;
}

const PROGRESS_EVERY = 500;
const HELD_OUT = 'held-out';

export function createCommand(): Command {
  const show = new Command('show')
    .description(
      'What a run would train on, row by row: the text as the model reads it, what carries loss marked (exit 1 where train would start no run)',
    )
    .argument('<config>', 'YAML, JSON or TypeScript file, as `train` takes it')
    .option('--limit <n>', 'show the first n rows; the summary is of all', parseCount)
    .option('--set <key=value>', 'change a key of the config; may be repeated', repeated)
    .option('--json', 'a JSON line a row on standard output, the summary on standard error')
    .action(run);
  return new Command('data')
    .description('What a run would train on, before anything is started')
    .addCommand(show.exitOverride());
}

async function run(file: string, flags: ShowFlags): Promise<void> {
  const output = openOutput(flags);
  const config = await loadTrainingConfig({ file, overrides: flags.set ?? [] });
  const { limit = Number.POSITIVE_INFINITY } = flags;
  const totals = new DataTotals();
  let [count, shortened] = [0, 0];
  const heldOut: HeldOutRows[] = [];
  const refused: RefusedRow[] = [];
  for await (const row of withoutHeldOut(showTrainingData(config), heldOut)) {
    countRow(row, totals);
    if ('refused' in row) refused.push(row);
    if (hasLessReasoning(row)) shortened += 1;
    if (++count <= limit) await showRow(row, output);
    else if (count % PROGRESS_EVERY === 0) output.status(`${count} rows read`);
  }
  output.status(null);
  const summary = totals.summary(batchSizeOf(config));
  sumUp(summary, { shortened, heldOut }, output);
  noteMetLater(refused, output);
  const verdict = refusedVerdict(refused.filter(stopsRun), config) ?? emptyVerdict(config, summary);
  if (verdict === null) return;
  output.note(verdict);
  process.exitCode = EXIT.failed;
}

/** The rows, without the count of those that are held out, which is put aside. */
async function* withoutHeldOut(
  rows: AsyncIterable<DataRow | HeldOutRows>,
  heldOut: HeldOutRows[],
): AsyncGenerator<DataRow> {
  for await (const row of rows) {
    if ('heldOut' in row) heldOut.push(row);
    else yield row;
  }
}

/** What is summed up is what is trained on. */
function countRow(row: DataRow, totals: DataTotals): void {
  if (!('refused' in row)) totals.add(row);
  else if (row.of === undefined) totals.refuse(countListed([row]));
}

interface BesideSummary {
  /** Rows of which replies lost their reasoning. */
  readonly shortened: number;
  /** At most one. */
  readonly heldOut: readonly HeldOutRows[];
}

function sumUp(summary: DataSummary, { shortened, heldOut: [held] }: BesideSummary, output: Output): void {
  const text =
    summaryText(summary) + (held === undefined ? '' : ` · ${held.heldOut} more held out as the test set`);
  if (output.isJson) output.note(text);
  else output.line(text);
  if (shortened === 0) return;
  output.note(
    `In ${shortened} of them replies are written without their reasoning, as in the prompts of this renderer ("reasoning in earlier turns" in docs/renderers.md).`,
  );
}

function hasLessReasoning(row: DataRow): boolean {
  return 'repliesWithoutReasoning' in row;
}

/** Whether `train` starts no run because of it. */
function stopsRun({ isLeftOut = false, isMetLater = false }: RefusedRow): boolean {
  return !isLeftOut && !isMetLater;
}

function noteMetLater(refused: readonly RefusedRow[], output: Output): void {
  const count = refused.filter(({ isMetLater }) => isMetLater).length;
  if (count === 0) return;
  const prompts =
    count === 1 ? 'The prompt that cannot be written is' : `The ${count} prompts that cannot be written are`;
  output.note(
    `${prompts} met as the run goes on, which ends there (rolloutErrorTolerance: fail-fast) or goes on without: mend the rows, or take another renderer.`,
  );
}

function emptyVerdict({ kind }: TrainingConfig, { rows, trainedTokens }: DataSummary): string | null {
  if (kind !== 'sft' || trainedTokens > 0) return null;
  const what = rows === 0 ? 'no row can be trained on' : 'no token of any row carries loss';
  return `train starts no run with this config: ${what}.`;
}

function refusedVerdict(refused: readonly RefusedRow[], { kind }: TrainingConfig): string | null {
  if (refused.length === 0) return null;
  const count = countListed(refused);
  const rows = count === 1 ? 'the row that is refused' : `the ${count} rows that are refused`;
  const isOfEvaluator = refused.some(({ of = HELD_OUT }) => of !== HELD_OUT);
  const own = kind === 'rl' ? 'environment.dataset' : 'dataset';
  const key = isOfEvaluator ? 'onBadRow: skip of their dataset' : `${own}.onBadRow: skip`;
  return `train starts no run with this config: mend ${rows}, or set ${key}, which leaves bad rows out.`;
}

function batchSizeOf(config: TrainingConfig): number {
  return config.kind === 'sft' ? config.batchSize : config.groupsPerBatch;
}

async function showRow(row: DataRow, output: Output): Promise<void> {
  await print(output.isJson ? `${JSON.stringify(documentOf(row))}\n` : `${textOf(row, output)}\n\n`);
}

function documentOf(row: DataRow): object {
  if ('refused' in row) return { row: row.row, refused: reasonOf(row) };
  const { row: name, tokens, weights, text, cut, repliesWithoutReasoning, emptyReplies } = row;
  const trained = row.pieces.filter(({ isTrained }) => isTrained).map((piece) => piece.text);
  return { row: name, tokens, weights, text, trained, cut, repliesWithoutReasoning, emptyReplies };
}

function textOf(row: DataRow, { colors }: Output): string {
  const name = colors.bold(escapeControls(row.row));
  if ('refused' in row) return `${name} ${colors.red(`refused: ${escapeControls(reasonOf(row))}`)}`;
  const mark = (text: string) => (colors.isColorSupported ? colors.green(text) : `⟦${text}⟧`);
  const text = row.pieces.map((piece) => {
    const shown = printable(piece.text);
    return piece.isTrained ? mark(shown) : shown;
  });
  return `${name} ${factsOf(row)}\n${text.join('')}`;
}

function reasonOf({ of, refused, ...row }: RefusedRow): string {
  const reason = `${refused}${othersText(row)}`;
  return of === undefined ? reason : `${of}: ${reason}`;
}

function factsOf(row: RenderedRow): string {
  const { tokens, weights, cut, fullLength, repliesWithoutReasoning, emptyReplies } = row;
  const trained = trainedCount(weights);
  return [
    `${tokens.length} tokens`,
    trained === 0 ? 'trains nothing' : `${trained} trained`,
    ...(cut ? [`cut from ${fullLength}`] : []),
    ...(repliesWithoutReasoning === undefined
      ? []
      : [`${replies(repliesWithoutReasoning)} without reasoning`]),
    ...(emptyReplies === undefined ? [] : [`${replies(emptyReplies)} without a word`]),
  ].join(', ');
}

function replies(count: number): string {
  return count === 1 ? '1 reply' : `${count} replies`;
}

/** Lines stay lines. */
function printable(text: string): string {
  return text.split('\n').map(escapeControls).join('\n');
}
