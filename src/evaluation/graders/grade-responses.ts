import type { ErrorCode } from '../../core/errors';
import { DomainError } from '../../core/errors';
import { gradeRow } from './grade-row';
import type { JsonLine } from './json-lines-reader';
import { readJsonLines } from './json-lines-reader';
import { isRow, requireShallow } from './row-fields';
import type { Row, RowGrader } from './row-grader';
import type { Score } from './grader';

export interface GradeResponsesInput {
  readonly grader: RowGrader;
  /** How messages call the input. */
  readonly name: string;
  /** JSONL of `{"example": row, "response": text}`. */
  readonly chunks: AsyncIterable<Buffer>;
}

/** A line of the result: how it was graded, or why it could not be. */
export type ResultLine = GradedResponse | UngradedResponse;

interface UngradedResponse {
  readonly score: null;
  readonly answer: null;
  readonly error: string;
}

export interface GradedResponse {
  readonly score: number;
  readonly answer: string | number | null;
  readonly metrics: Readonly<Record<string, number>>;
  readonly details: Readonly<Record<string, unknown>>;
}

/**
 * Scores stored responses in order, one at a time, holding one line in memory. A line that cannot be graded ends it with an
 * error that names the line; where no verdict came about in its time, this is what becomes of the line, and the others are graded.
 */
export async function* gradeResponses({
  grader,
  name,
  chunks,
}: GradeResponsesInput): AsyncGenerator<ResultLine> {
  for await (const line of readJsonLines(name, chunks, grader.parseLine)) {
    const { example, response } = requestOf({ grader, name, line });
    yield await gradeLine({ grader, response, example, where: `${name}: line ${line.number}` });
  }
}

/** They say nothing of the other lines. */
const NO_VERDICT: ReadonlySet<ErrorCode> = new Set<ErrorCode>(['timed-out', 'sandbox-lost']);

interface LineInput {
  readonly grader: RowGrader;
  readonly response: string;
  readonly example: Row;
  readonly where: string;
}

async function gradeLine({ grader, response, example, where }: LineInput): Promise<ResultLine> {
  try {
    requireShallow(example, ['example']);
    const result = resultOf(await gradeRow(grader, response, example));
    const isNumber = grader.hasNumericAnswer === true && result.answer !== null;
    return isNumber ? { ...result, answer: Number(result.answer) } : result;
  } catch (cause) {
    if (cause instanceof DomainError && NO_VERDICT.has(cause.code))
      return { score: null, answer: null, error: cause.message };
    if (cause instanceof DomainError)
      throw new DomainError(cause.code, `${where}: ${cause.message}`, { cause });
    throw new Error(`${where}: grader ${grader.name} failed: ${String(cause)}`, { cause });
  }
}

interface RequestInput {
  readonly grader: RowGrader;
  readonly name: string;
  readonly line: JsonLine;
}

function requestOf({ grader, name, line }: RequestInput): { example: Row; response: string } {
  const row = isRow(line.value) ? line.value : {};
  const own = row.example === undefined ? grader.readLine?.(row) : undefined;
  const absent = own ? absentFields(grader, row) : [];
  const { example, response } = own ?? row;
  if (absent.length === 0 && isRow(example) && typeof response === 'string') return { example, response };
  const missing = absent.join(' and ') || lackOf(example);
  throw new DomainError(
    'bad-dataset',
    `${name}: line ${line.number} has no ${missing}. Give ${formOf(grader)}.`,
  );
}

function formOf({ lineForm = '{"example": <row>, "response": "<text>"}' }: RowGrader): string {
  return lineForm;
}

function absentFields({ lineFields = [] }: RowGrader, row: Row): string[] {
  return lineFields.filter((field) => row[field] === undefined).map((field) => `"${field}"`);
}

function lackOf(example: unknown): string {
  return isRow(example) ? '"response" as text' : '"example" as an object';
}

function resultOf({ value, answer, metrics = {}, details = {} }: Score): GradedResponse {
  return { score: value, answer, metrics, details };
}
