import { shuffledIndices } from '../../core/random';
import type { ConversationRow } from '../../datasets/dataset';
import { placeOfRow, withPlace } from '../../datasets/row-place';
import type { DatasetToRead } from '../dataset-of';
import type { Example } from '../example';
import { withUniqueIds } from '../example';
import { answerText } from '../runner/message-text';
import type { EvaluationDependencies } from './evaluation-context';

/** Conversations as examples; the last reply of each is the target. */
export async function datasetExamples(
  { loadDataset }: Pick<EvaluationDependencies, 'loadDataset'>,
  { dataset, maxExamples }: { readonly dataset: DatasetToRead; readonly maxExamples?: number | undefined },
): Promise<Example[]> {
  const { rows } = await loadDataset(dataset);
  const order =
    maxExamples === undefined ? rows.keys() : shuffledIndices(rows.length, 0).slice(0, maxExamples);
  return withUniqueIds([...order].flatMap((index) => rows[index] ?? []).map(placedExample));
}

function placedExample(row: ConversationRow): Example {
  const place = placeOfRow(row);
  return place ? withPlace(exampleOf(row), place) : exampleOf(row);
}

function exampleOf({ id, messages, tools, rubric }: ConversationRow): Example {
  const declared = { ...(tools && { tools }), ...(rubric && { row: { rubric } }) };
  const last = messages.at(-1);
  if (last?.role !== 'assistant') return { id, messages, target: null, ...declared };
  return { id, messages: messages.slice(0, -1), target: answerText(last), ...declared };
}
