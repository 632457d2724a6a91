import { DomainError } from '../../core/errors';
import type { JsonLine } from './json-lines-reader';
import { readJsonLines } from './json-lines-reader';
import { isRow } from './row-fields';
import type { Row, RowGrader, RowScore } from './row-grader';

export interface GradeResponsesInput {
  readonly grader: RowGrader;
  /** How messages call the input. */
  readonly name: string;
  /** JSONL of `{"example": row, "response": text}`. */
  readonly chunks: AsyncIterable<Buffer>;
}

/** A line of the result. */
export interface GradedResponse {
  readonly score: number;
  readonly answer: string | null;
  readonly metrics: Readonly<Record<string, number>>;
  readonly details: Readonly<Record<string, unknown>>;
}

/**
 * Scores stored responses in order, one at a time, holding one line in memory. A line that cannot be graded ends it with an
 * error that names the line.
 */
export async function* gradeResponses({
  grader,
  name,
  chunks,
}: GradeResponsesInput): AsyncGenerator<GradedResponse> {
  for await (const line of readJsonLines(name, chunks)) {
    const { example, response } = requestOf(name, line);
    yield resultOf(await gradeLine({ grader, response, example, where: `${name}: line ${line.number}` }));
  }
}

interface LineInput {
  readonly grader: RowGrader;
  readonly response: string;
  readonly example: Row;
  readonly where: string;
}

async function gradeLine({ grader, response, example, where }: LineInput): Promise<RowScore> {
  try {
    return await grader.grade(response, example);
  } catch (cause) {
    if (cause instanceof DomainError)
      throw new DomainError(cause.code, `${where}: ${cause.message}`, { cause });
    throw new Error(`${where}: grader ${grader.name} failed: ${String(cause)}`, { cause });
  }
}

function requestOf(name: string, { number, value }: JsonLine): { example: Row; response: string } {
  const { example, response } = isRow(value) ? value : {};
  if (isRow(example) && typeof response === 'string') return { example, response };
  const missing = isRow(example) ? '"response" as text' : '"example" as an object';
  throw new DomainError(
    'bad-dataset',
    `${name}: line ${number} has no ${missing}. Give {"example": <row>, "response": "<text>"}.`,
  );
}

function resultOf({ value, answer, metrics = {}, details = {} }: RowScore): GradedResponse {
  return { score: value, answer, metrics, details };
}
