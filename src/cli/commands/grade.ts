import { createReadStream } from 'node:fs';
import { mkdtemp, open, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Command } from 'commander';
import { hasErrorCode } from '../../core/error-code';
import { DomainError } from '../../core/errors';
import { readEnvironment } from '../../config/environment';
import { largestOf } from '../../core/extremes';
import { runCodeIn } from '../../evaluation/graders/code/code-sandboxes';
import { findRowGrader, ROW_GRADERS } from '../../evaluation/graders/find-row-grader';
import { gradeResponses } from '../../evaluation/graders/grade-responses';
import type { GradingSummary } from '../../evaluation/graders/grading-summary';
import { GradingTotals } from '../../evaluation/graders/grading-summary';
import type { RowGrader } from '../../evaluation/graders/row-grader';
import { EXIT } from '../exit-codes';
import { LongSilence } from '../long-silence';
import type { Output } from '../output';
import { openOutput } from '../output';
import { printPair } from '../printed-pair';
import { print, writeWhole } from '../whole-output';

interface GradeFlags {
  readonly input?: string;
  readonly output?: string;
  readonly list?: boolean;
  readonly json?: boolean;
}

const PROGRESS_EVERY = 2000;
const WRITE_SIZE = 64 * 1024;

export function createCommand(): Command {
  return new Command('grade')
    .description('Score stored responses without a model: a line out for each line in, in order')
    .argument('[name]', 'a grader (--list shows them); hyphens may stand for underscores')
    .option('--input <file>', 'JSONL of {"example": <row in its original fields>, "response": "<text>"}')
    .option('--output <file>', 'JSONL of {"score", "answer", "metrics", "details"}; else standard output')
    .option('--list', 'the graders and the fields they read')
    .option(
      '--json',
      'one JSON document on standard output: the summary, with the results where no --output is given',
    )
    .action(run);
}

async function run(name: string | undefined, flags: GradeFlags): Promise<void> {
  const output = openOutput({ json: flags.json === true });
  if (flags.list === true) listGraders(output);
  else await grade(name, flags, output);
}

function listGraders(output: Output): void {
  const width = largestOf(ROW_GRADERS.map(({ name }) => name.length)) + 2;
  for (const { name, description: text } of ROW_GRADERS) printPair(output, { name, text, width });
  output.document(ROW_GRADERS.map(({ name, version, description }) => ({ name, version, description })));
}

async function grade(name: string | undefined, flags: GradeFlags, output: Output): Promise<void> {
  const grader = findRowGrader(needed(name, 'Name a grader'));
  runCodeIn(readEnvironment().sandbox);
  const input = needed(flags.input, 'Give the responses with --input <file>');
  if (flags.output === undefined) {
    await gradeToStandardOutput(grader, input, output);
    return;
  }
  const summary = await writeWhole(flags.output, (file) => gradeInto({ grader, input, file, output }));
  output.document({ ...summary, output: flags.output });
  output.line(`${describe(summary)}. Written to ${flags.output}.`);
  tellEnd(summary);
}

function needed(value: string | undefined, what: string): string {
  if (value !== undefined) return value;
  throw new DomainError(
    'bad-config',
    `${what}, e.g. everstep grade gsm8k --input responses.jsonl. Graders: --list.`,
  );
}

/** What could not be graded stands in its lines, so that the results are there all the same. */
function tellEnd({ errorCount }: GradingSummary): void {
  if (errorCount > 0) process.exitCode = EXIT.failed;
}

/** The results wait in a temporary file until the last line is graded, so that nothing is printed of a bad input. */
async function gradeToStandardOutput(grader: RowGrader, input: string, output: Output): Promise<void> {
  const folder = await mkdtemp(path.join(tmpdir(), 'everstep-grade-'));
  const file = path.join(folder, 'results.jsonl');
  try {
    const summary = await gradeInto({ grader, input, file, output });
    if (output.isJson) await printDocument(summary, file);
    else for await (const line of linesOf(file)) await print(`${line}\n`);
    output.note(`${describe(summary)}.`);
    tellEnd(summary);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** The summary with the results as its last field, never whole in memory. */
async function printDocument(summary: GradingSummary, file: string): Promise<void> {
  await print(`${JSON.stringify(summary).slice(0, -1)},"results":[`);
  let isFirst = true;
  for await (const line of linesOf(file)) {
    await print(isFirst ? line : `,${line}`);
    isFirst = false;
  }
  await print(']}\n');
}

async function* linesOf(file: string): AsyncGenerator<string> {
  const handle = await open(file);
  // Our own lines: JSON.stringify leaves U+2028 in strings, which node:readline would take for the end of a line.
  let rest = '';
  for await (const chunk of handle.createReadStream({ encoding: 'utf8' })) {
    const lines = `${rest}${String(chunk)}`.split('\n');
    rest = lines.pop() ?? '';
    yield* lines;
  }
}

interface GradeIntoInput {
  readonly grader: RowGrader;
  readonly input: string;
  readonly file: string;
  readonly output: Output;
}

async function gradeInto({ grader, input, file, output }: GradeIntoInput): Promise<GradingSummary> {
  const totals = new GradingTotals(grader);
  const chunks = readInput(input);
  const handle = await open(file, 'w');
  let waiting = '';
  let count = 0;
  const silence = new LongSilence(output, () =>
    count === 0 ? `${grader.name}: starting; what grades is loaded first` : `${count} graded so far`,
  );
  try {
    for await (const result of gradeResponses({ grader, name: input, chunks })) {
      totals.add(result);
      waiting += `${JSON.stringify(result)}\n`;
      if (waiting.length > WRITE_SIZE) {
        await handle.appendFile(waiting);
        waiting = '';
      }
      if (++count % PROGRESS_EVERY === 0) output.status(`${count} graded`);
    }
    await handle.appendFile(waiting);
  } finally {
    silence.end();
    output.status(null);
    await handle.close();
  }
  return totals.summary();
}

async function* readInput(file: string): AsyncGenerator<Buffer> {
  try {
    for await (const chunk of createReadStream(file)) yield Buffer.from(chunk);
  } catch (cause) {
    if (!hasErrorCode(cause, 'ENOENT', 'EISDIR', 'EACCES', 'ENOTDIR')) throw cause;
    throw new DomainError('bad-config', `--input ${file} cannot be read. Give a JSONL file.`, { cause });
  }
}

function describe(summary: GradingSummary): string {
  const { grader, count, score, standardError, unansweredCount, errorCount, limitCount, metrics } = summary;
  const failures = errorCount === 0 ? '' : `, ${errorCount} not graded (see "error")`;
  if (score === null) return errorCount === 0 ? `${grader}: no lines` : `${grader}: 0 graded${failures}`;
  const limits = limitCount === 0 ? '' : `, ${limitCount} ended at a limit`;
  const spread = standardError === null ? '' : ` ± ${standardError.toFixed(4)} (standard error)`;
  const others = Object.entries(metrics).map(([name, value]) => `, ${name} ${value.toFixed(4)}`);
  return `${grader}: ${count} graded, score ${score.toFixed(4)}${spread}${others.join('')}, ${unansweredCount} without an answer${limits}${failures}`;
}
