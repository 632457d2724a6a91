import { DomainError } from '../../../core/errors';
import { largestOf } from '../../../core/extremes';
import { firstOf, textField, textListField } from '../row-fields';
import type { Row, RowGrader } from '../row-grader';
import type { Score } from '../grader';
import { LONGBENCH_METRICS, scoredPart } from './metrics';

/**
 * LongBench in both versions. A row with `choice_A` is of version 2: the letter behind "The correct answer is", else wrong.
 * Any other row is of version 1: the best score over `answers` by the metric of its `dataset`.
 */
export const longbench: RowGrader = {
  name: 'longbench',
  version: 'longbench@1',
  description: 'v2: answer with choice_A…D; v1: dataset, answers, all_classes',
  grade: (completion, row) =>
    firstOf(row, ['choice_A']) === undefined
      ? gradeVersion1(completion, row)
      : gradeVersion2(completion, row),
};

function gradeVersion2(completion: string, row: Row): Score {
  const target = textField(row, ['answer']).trim();
  const text = completion.replaceAll('*', '');
  const answer =
    /The correct answer is \(([A-D])\)/.exec(text)?.[1] ??
    /The correct answer is ([A-D])/.exec(text)?.[1] ??
    null;
  return { value: Number(answer === target), answer, explanation: `expected ${target}`, details: { target } };
}

function gradeVersion1(completion: string, row: Row): Score {
  const dataset = textField(row, ['dataset']).replace(/_e$/, '');
  const metric = LONGBENCH_METRICS.get(dataset);
  if (metric === undefined) {
    throw new DomainError(
      'bad-dataset',
      `example: no LongBench dataset is called "${dataset}". Known: ${[...LONGBENCH_METRICS.keys()].join(', ')}.`,
    );
  }
  const prediction = scoredPart(dataset, completion);
  const classes = firstOf(row, ['all_classes']) === undefined ? [] : textListField(row, ['all_classes']);
  const scores = textListField(row, ['answers']).map((reference) => metric(prediction, reference, classes));
  return {
    value: prediction.trim() === '' ? 0 : Math.max(0, largestOf(scores)),
    answer: prediction.trim() || null,
    details: { dataset },
  };
}
