import { join } from 'node:path';
import { EvaluatorConfig } from '../../../../src/config/evaluation-config';
import { evaluateCell } from '../../../../src/evaluation/evaluate-cell';
import { NO_SAMPLER } from '../../../../src/evaluation/judges/carry-answers';
import type { Judgement } from '../../../../src/evaluation/judges/judgements';
import type { SampleRow } from '../../../../src/evaluation/runner/shard-rows';
import { summaryOf } from '../../../../src/evaluation/runner/summary-of';
import { loadResult } from '../../../../src/stores/eval-store';
import { readJsonLines } from '../../../../src/stores/json-lines';
import { dependenciesOf, modelThatSays, workOf } from '../measured-model';
import { newFolder } from '../runner/fake-model';
import { judgeCalled, judgesThatSay } from './fake-judges';

const JUDGE = { model: 'first', endpoint: 'http://127.0.0.1:1/v1' };
const rows = Array.from({ length: 6 }, (_, index) => ({
  id: `q${index}`,
  messages: [
    { role: 'user' as const, content: `question ${index}` },
    { role: 'assistant' as const, content: `target ${index}` },
  ],
}));

function evaluatorOf(type: 'modelGraded' | 'comparison', more: object = {}) {
  return EvaluatorConfig.parse({
    ...{ type, name: 'judged', dataset: { path: 'questions.jsonl' }, maxTokens: 100, judge: JUDGE },
    ...more,
  });
}

/** `first` is content with everything, `second` with nothing. */
const judges = () =>
  judgesThatSay((request, model) => {
    const isPair = JSON.stringify(request).includes('Answer B');
    if (isPair) return model === 'first' ? '[[A]]' : '[[B]]';
    return model === 'first' ? 'GRADE: C' : 'GRADE: I';
  });

async function judgeTwice(evaluator: EvaluatorConfig, contextLength = 1000) {
  const { access, asked } = judges();
  const model = modelThatSays((question) => `answer to ${question}`);
  const work = { ...workOf(), name: 'judged', folder: join(newFolder(), 'judged'), evaluator };
  const options = { rows, judges: access, contextLength };
  const before = await evaluateCell(dependenciesOf(model.sampler, options), work);
  const again = { ...work, folder: join(newFolder(), 'judged') };
  const after = await evaluateCell(
    dependenciesOf(NO_SAMPLER, {
      ...{ ...options, contextLength: null },
      rejudging: { samplesFrom: work.folder, judges: [judgeCalled('second')] },
    }),
    again,
  );
  return { before, after, asked, model, first: work.folder, second: again.folder };
}

const resultIn = (folder: string) => loadResult(join(folder, '..'), 'judged');
const samplesIn = (folder: string) => readJsonLines<SampleRow>(join(folder, 'journal', 'samples.jsonl'));

describe('a judged score whose answers were cut off', () => {
  const scored = async (type: 'modelGraded' | 'comparison', cutCount: number) => {
    const { access, asked } = judges();
    const { sampler } = modelThatSays((question) =>
      Number(question.at(-1)) < cutCount ? 'a'.repeat(200) : 'a',
    );
    const evaluator = evaluatorOf(type);
    const dependencies = dependenciesOf(sampler, { rows, judges: access });
    const folder = join(newFolder(), 'judged');
    const [score] = await evaluateCell(dependencies, { ...workOf(), name: 'judged', folder, evaluator });
    return { score, asked, folder };
  };

  test.each(['modelGraded', 'comparison'] as const)('says so: %s', async (type) => {
    const { score, asked, folder } = await scored(type, 6);

    const remark =
      '6 of 6 answers were cut off at maxTokens 100 or the model’s context and count 0: no judge was asked';
    expect([score?.value, score?.n, score?.remark, asked.length]).toEqual([0, 6, remark, 0]);
    const result = await resultIn(folder);
    expect(result && summaryOf(result)).toMatchObject({ unjudged: remark });
  });

  test('says so from a half of them on', async () => {
    expect((await scored('modelGraded', 3)).score?.remark).toMatch(/^3 of 6 answers were cut off/);
    const { score, folder } = await scored('modelGraded', 2);
    expect(score).not.toHaveProperty('remark');
    const result = await resultIn(folder);
    expect(result && summaryOf(result)).not.toHaveProperty('unjudged');
  });
});

test('answers of an evaluation are judged again by another judge, and the model is not asked', async () => {
  const { before, after, asked, model, first, second } = await judgeTwice(evaluatorOf('modelGraded'));

  const [was, is] = [await resultIn(first), await resultIn(second)];
  expect(before[0]).toMatchObject({ key: 'test/judged/accuracy', value: 1, n: 6 });
  expect(after[0]).toMatchObject({ key: 'test/judged/accuracy', value: 0, n: 6 });
  expect(model.asked).toHaveLength(6);
  expect(await samplesIn(second)).toEqual(await samplesIn(first));
  expect(asked.filter((each) => each.model === 'second')).toHaveLength(6);
  expect(is).toMatchObject({ num_errors: 0, identity: { judges: [{ model: 'second' }] } });
  expect({ ...is?.identity, judges: null, graderVersion: '' }).toEqual({
    ...was?.identity,
    judges: null,
    graderVersion: '',
  });
  expect(was?.identity.judges).toMatchObject([{ model: 'first' }]);
});

test('a baseline that was sampled is not sampled again either', async () => {
  const { asked, second } = await judgeTwice(evaluatorOf('comparison', { baseline: 'base' }));

  const said = await readJsonLines<Judgement>(join(second, 'journal', 'judgements.jsonl'));
  expect(said.filter(({ stage }) => stage === 'baseline')).toHaveLength(6);
  expect(said.filter(({ judge }) => judge === 'second')).toHaveLength(12);
  expect(asked.filter(({ model }) => model === 'everstep/tiny')).toHaveLength(6);
});

test('a prompt that was too long stays one, and is no answer that is missing', async () => {
  const { before, after, second } = await judgeTwice(evaluatorOf('modelGraded'), 20);

  const result = await resultIn(second);
  expect(result).toMatchObject({ num_errors: 0, num_truncated: 6, num_examples: 6 });
  expect(after[0]?.value).toBe(before[0]?.value);
});

test('an answer that is not stored is an error, and nothing is asked for it', async () => {
  const { access, asked } = judges();
  const evaluator = evaluatorOf('modelGraded');
  const folder = join(newFolder(), 'judged');

  const judging = evaluateCell(
    dependenciesOf(NO_SAMPLER, {
      ...{ rows, judges: access },
      rejudging: { samplesFrom: join(newFolder(), 'nothing'), judges: [judgeCalled('second')] },
    }),
    { ...workOf(), name: 'judged', folder, evaluator },
  );

  await expect(judging).rejects.toThrow(/All 6 examples failed.*no answer to this example is stored/);
  expect(asked).toEqual([]);
});
