import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { EvaluatorConfig } from '../../../../src/config/evaluation-config';
import { cellMaking } from '../../../../src/evaluation/cell-making';
import { evaluateCell } from '../../../../src/evaluation/evaluate-cell';
import { createDatasetReader } from '../../../../src/training/dataset-source';
import { dependenciesOf, modelThatSays, workOf } from '../measured-model';
import { newFolder } from '../runner/fake-model';
import { judgesThatSay, promptOf } from './fake-judges';

const JUDGE = { model: 'judge', endpoint: 'http://127.0.0.1:1/v1' };
const said = (question: string) => [
  { role: 'user', content: question },
  { role: 'assistant', content: 'a' },
];
const row = (question: string, more: object) => ({ messages: said(question), ...more });
const jsonl = (...rows: readonly object[]) => rows.map((each) => `${JSON.stringify(each)}\n`).join('');

/** Evaluates a file by method rubric: what the judge was asked, and the score. */
async function evaluate(name: string, text: string, more: object = {}) {
  const path = join(newFolder(), name);
  writeFileSync(path, text);
  const { access, asked } = judgesThatSay(() => '<score>1</score>');
  const model = modelThatSays((question) => `answer to ${question}`);
  const evaluator = EvaluatorConfig.parse({
    ...{ type: 'modelGraded', name: 'judged', method: 'rubric', judge: JUDGE, maxTokens: 100 },
    dataset: { path },
    ...more,
  });
  const dependencies = dependenciesOf(model.sampler, {
    judges: access,
    loadDataset: createDatasetReader({ cacheFolder: newFolder() }),
  });
  const scores = await evaluateCell(dependencies, {
    ...workOf(),
    ...{ name: 'judged', folder: join(newFolder(), 'judged'), evaluator },
  });
  const making = await cellMaking(dependencies, evaluator);
  return { scores, making, prompts: asked.map(({ request }) => promptOf(request)) };
}

const FILES = {
  'rows.jsonl': jsonl(
    row('R0', { rubric: ['It is warm.', 'It is bright.'] }),
    row('R1', { rubric: ['It is brief.'] }),
  ),
  'rows.csv':
    'prompt,completion,rubric\nR0,a,"[""It is warm."", ""It is bright.""]"\nR1,a,"[""It is brief.""]"\n',
};

test.each(Object.entries(FILES))(
  'the judge is asked the items that each row of %s has',
  async (name, text) => {
    const { prompts, scores } = await evaluate(name, text);

    const asked = prompts.map((prompt) => [
      /answer to R\d/.exec(prompt)?.[0],
      /It is (?:warm|bright|brief)\./.exec(prompt)?.[0],
    ]);
    expect(asked.toSorted()).toEqual([
      ['answer to R0', 'It is bright.'],
      ['answer to R0', 'It is warm.'],
      ['answer to R1', 'It is brief.'],
    ]);
    expect(scores[0]).toMatchObject({ key: 'test/judged/score', value: 1, n: 2 });
  },
);

test('rows may call them otherwise', async () => {
  const path = join(newFolder(), 'rows.jsonl');
  writeFileSync(path, jsonl(row('R0', { criteria: ['It is warm.'] })));

  const { prompts } = await evaluate('none.jsonl', '', { dataset: { path, fields: { rubric: 'criteria' } } });

  expect(prompts).toEqual([expect.stringContaining('It is warm.')]);
});

test('another rubric makes another score', async () => {
  const first = await evaluate('rows.jsonl', jsonl(row('R0', { rubric: ['It is warm.'] })));
  const other = await evaluate('rows.jsonl', jsonl(row('R0', { rubric: ['It is cold.'] })));

  expect(other.making).not.toBe(first.making);
  expect(other.scores[0]?.data).not.toBe(first.scores[0]?.data);
});

test.each([
  [{}, 'rows.jsonl line 2: field "rubric" is missing'],
  [{ rubric: [] }, 'rows.jsonl line 2: field "rubric": the list is empty.'],
  [{ rubric: 'Be kind.' }, 'rows.jsonl line 2: field "rubric": expected a list of texts, got text.'],
  [{ rubric: ['a', 7] }, 'rows.jsonl line 2: field "rubric[1]": expected text, got number.'],
  [{ rubric: ['a', ' '] }, 'rows.jsonl line 2: field "rubric[1]": expected text, got empty text.'],
])('a row with %j is refused by file and line when it is read', async (more, reason) => {
  const text = jsonl(row('R0', { rubric: ['It is warm.'] }), row('R1', more));

  await expect(evaluate('rows.jsonl', text)).rejects.toThrow(reason);
});

test('a rubric of a row is refused where the evaluator has its own, or asks another way', async () => {
  const text = jsonl(row('R0', { rubric: ['It is warm.'] }));

  for (const more of [{ rubric: ['It is brief.'] }, { method: 'score' }])
    await expect(evaluate('rows.jsonl', text, more)).rejects.toThrow('line 1: unknown field "rubric"');
});
