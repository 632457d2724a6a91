import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { DomainError } from '../../core/errors';
import { ownValue } from '../../core/own-value';
import { readRows } from '../../datasets/read-rows';
import { firstOf, isRow, textField } from '../graders/row-fields';
import type { Row } from '../graders/row-grader';

/** Whose answers are compared with, by category. */
const BASELINES: Readonly<Record<string, string>> = {
  'arena-hard-v0.1': 'gpt-4-0314',
  hard_prompt: 'o3-mini-2025-01-31',
  coding: 'o3-mini-2025-01-31',
  math: 'o3-mini-2025-01-31',
  creative_writing: 'gemini-2.0-flash-001',
};
const OWN_FILES = ['baseline.jsonl', 'baseline_answers.jsonl'];

/** Answers by the question's id. */
type Answers = ReadonlyMap<string, string>;

/**
 * Puts the answer that it is compared with into each question. In `folder` they are `model_answer/<model>.jsonl`, as
 * published, or `baseline.jsonl`; a row may also bring its own as `baseline_answer`.
 */
export async function baselineAnswersFrom(folder: string | null): Promise<(row: Row) => Row> {
  const own = await readFirst(folder, OWN_FILES);
  const official = new Map<string, Answers | null>();
  for (const model of new Set(Object.values(BASELINES)))
    official.set(model, await readOfficial(folder, model));
  return (row) => {
    const baseline = baselineOf(row);
    const id = textField(row, ['question_id', 'uid']);
    const answer = ownAnswerOf(row) ?? own?.get(id) ?? official.get(baseline)?.get(id);
    if (answer === undefined) throw noAnswer({ id, baseline, folder });
    return { ...row, baseline, baseline_answer: answer };
  };
}

function baselineOf(row: Row): string {
  const category = row['category'];
  return (typeof category === 'string' ? ownValue(BASELINES, category) : undefined) ?? 'gpt-4-0314';
}

function ownAnswerOf(row: Row): string | undefined {
  return answerIn(firstOf(row, ['baseline_answer', 'baseline', 'baseline_response']));
}

function readOfficial(folder: string | null, model: string): Promise<Answers | null> {
  return readFirst(folder, [join('model_answer', `${model}.jsonl`), `${model}.jsonl`]);
}

async function readFirst(folder: string | null, names: readonly string[]): Promise<Answers | null> {
  if (folder === null) return null;
  const path = names.map((name) => join(folder, name)).find((each) => existsSync(each));
  if (path === undefined) return null;
  const { rows } = await readRows({ path });
  return new Map(
    rows.flatMap((row) => {
      const answer = storedAnswerOf(row);
      return answer === undefined ? [] : [[textField(row, ['uid', 'question_id']), answer] as const];
    }),
  );
}

/** `messages` of the present files, `choices` of earlier ones, or a text. */
function storedAnswerOf(row: Row): string | undefined {
  const { messages, choices } = row;
  if (Array.isArray(messages)) return answerIn(messages.at(-1));
  const choice: unknown = Array.isArray(choices) ? choices[0] : undefined;
  if (isRow(choice) && Array.isArray(choice['turns'])) return answerIn(choice['turns'][0]);
  return answerIn(firstOf(row, ['answer', 'baseline_answer', 'response', 'content']));
}

function answerIn(value: unknown): string | undefined {
  if (typeof value === 'string') return value;
  return isRow(value) ? answerIn(firstOf(value, ['answer', 'content'])) : undefined;
}

interface Missing {
  readonly id: string;
  readonly baseline: string;
  readonly folder: string | null;
}

function noAnswer({ id, baseline, folder }: Missing): DomainError {
  const where = folder ?? 'EVERSTEP_DATA_DIR/<benchmark>';
  return new DomainError(
    'bad-dataset',
    `Arena-Hard: no answer of ${baseline} to question ${id}. Put ${baseline}.jsonl of github.com/lmarena/arena-hard-auto (data/<release>/model_answer) in ${where}/model_answer, or answers of your own in ${where}/baseline.jsonl.`,
  );
}
