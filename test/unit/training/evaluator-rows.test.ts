import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { EvaluatorConfig } from '../../../src/config/evaluation-config';
import { datasetOf } from '../../../src/evaluation/dataset-of';
import { createDatasetReader } from '../../../src/training/dataset-source';
import { evaluatorRowRemarks } from '../../../src/training/evaluator-rows';
import { newFolder } from '../evaluation/runner/fake-model';

const JUDGE = { model: 'judge', endpoint: 'http://127.0.0.1:1/v1' };
const asked = { role: 'user', content: 'q' };
const reply = (content: string) => ({ role: 'assistant', content });

function fileOf(...rows: readonly object[]): string {
  const path = join(newFolder(), 'held.jsonl');
  writeFileSync(path, rows.map((row) => `${JSON.stringify(row)}\n`).join(''));
  return path;
}

function readerOf() {
  return createDatasetReader({ cacheFolder: newFolder() });
}

test('rows that the dataset of an evaluator leaves out are remarked, with the first of them', async () => {
  const path = fileOf({ messages: [asked, reply('a')] }, { text: 'a' }, { text: 'b' });
  const evaluators = {
    held: EvaluatorConfig.parse({ type: 'nll', name: 'held', dataset: { path, onBadRow: 'skip' } }),
    strict: EvaluatorConfig.parse({ type: 'nll', name: 'strict', dataset: { path } }),
  };

  const remarks = await evaluatorRowRemarks(readerOf(), evaluators);

  expect(remarks).toEqual([
    expect.stringMatching(
      /^Evaluator "held": 2 rows are left out \(onBadRow: skip\), the first, \S*held\.jsonl line 2, because: no known shape/,
    ),
  ]);
});

describe('an evaluator whose judge compares with the last reply', () => {
  const path = fileOf(
    { messages: [asked, reply('a')] },
    { messages: [asked] },
    { messages: [asked, reply(' ')] },
  );
  const graded = (more: object) =>
    EvaluatorConfig.parse({
      ...{ type: 'modelGraded', name: 'judged', judge: JUDGE, maxTokens: 10 },
      ...more,
    });
  const read = async (more: object, dataset: object = {}) => {
    const evaluator = graded({ dataset: { path, ...dataset }, ...more });
    if (!('dataset' in evaluator)) throw new Error('it has a dataset');
    return readerOf()(datasetOf(evaluator));
  };

  test.each(['qa', 'fact'])('refuses rows without one when they are read, by method %s', async (method) => {
    await expect(read({ method })).rejects.toThrow(
      /held\.jsonl has 2 bad rows of 3:\n {2}- line 2: the conversation has no reply at its end, .*\n {2}- line 3:/,
    );
    const { rows, skipped } = await read({ method }, { onBadRow: 'skip' });
    expect([rows.length, skipped.map(({ line }) => line)]).toEqual([1, [2, 3]]);
  });

  test.each([{ method: 'score' }, { method: 'qa', template: '{question} {answer}' }])(
    'takes them where nothing is compared: %j',
    async (more) => {
      expect((await read(more)).rows).toHaveLength(3);
    },
  );
});
