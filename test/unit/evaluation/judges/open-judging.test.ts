import { appendFileSync, existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { DomainError } from '../../../../src/core/errors';
import { parseEndpointUrl } from '../../../../src/engines/openai/endpoint-address';
import { GivenUpError } from '../../../../src/engines/openai/given-up';
import { judgedGrader } from '../../../../src/evaluation/judges/judged-grader';
import type { Judgement } from '../../../../src/evaluation/judges/judgements';
import { modelGraded } from '../../../../src/evaluation/judges/methods/model-graded';
import { pairwise } from '../../../../src/evaluation/judges/methods/pairwise';
import { runShard } from '../../../../src/evaluation/runner/run-shard';
import type { GradeRow, SampleRow } from '../../../../src/evaluation/runner/shard-rows';
import { readJsonLines } from '../../../../src/stores/json-lines';
import { modelThatSays, newFolder, subjectOf, taskOf } from '../runner/fake-model';
import { EXAMPLE, judgeCalled, judgesThatSay, openWith } from './fake-judges';

const GRADER = judgedGrader(modelGraded({ kind: 'qa' }));
const rowsIn = (folder: string) => readJsonLines<Judgement>(join(folder, 'judgements.jsonl'));

/** Samples and judges twenty questions in a folder, as one attempt. */
async function runIn(folder: string, access: Parameters<typeof openWith>[1], epoch = 1) {
  const model = modelThatSays((question) => `answer to ${question}`);
  const { grader, close } = await openWith(GRADER, access, { folder, epoch });
  try {
    const counts = await runShard(taskOf(model.completer, folder, { subject: subjectOf({ grader }), epoch }));
    return { asked: model.asked, counts };
  } finally {
    await close();
  }
}

test('judges each completion once and keeps what was said apart from samples and grades', async () => {
  const folder = newFolder();
  const { access, asked } = judgesThatSay(() => 'GRADE: C');

  const { counts } = await runIn(folder, access);

  expect(counts).toMatchObject({ done: 20, rewardSum: 20, errorCount: 0 });
  expect(asked).toHaveLength(20);
  expect(await rowsIn(folder)).toHaveLength(20);
  expect((await rowsIn(folder))[0]).toMatchObject({ stage: 'grade', judge: 'judge', text: 'GRADE: C' });
  expect(await readJsonLines<SampleRow>(join(folder, 'samples.jsonl'))).toHaveLength(20);
});

test('a judge that fails is an error, and a later attempt asks it again and the model for nothing', async () => {
  const folder = newFolder();
  let isBroken = true;
  const { access } = judgesThatSay(({ messages }) => {
    if (isBroken && JSON.stringify(messages).includes('question 7')) {
      throw new DomainError('request-failed', 'overloaded', { category: 'user' });
    }
    return 'GRADE: C';
  });

  const first = await runIn(folder, access);
  isBroken = false;
  const second = await runIn(folder, access, 2);

  expect(first.counts).toMatchObject({ errorCount: 1, rewardSum: 19 });
  expect((await readJsonLines<GradeRow>(join(folder, 'grades.jsonl'))).every(({ error }) => !error)).toBe(
    true,
  );
  expect(second.counts).toMatchObject({ errorCount: 0, rewardSum: 20 });
  expect(second.asked).toEqual([]);
});

const DESTINATION = {
  ...{ address: parseEndpointUrl('http://127.0.0.1:1/v1'), path: '/chat/completions' },
  ...{ model: 'judge', apiKey: undefined },
};

test.each([
  ['fails', new DomainError('request-failed', 'answers without a choice', { category: 'server' }), 3],
  ['breaks', new Error('no JSON'), 3],
  ['was tried for long', new GivenUpError(DESTINATION, 30_000, { reason: 'cut', cause: null }), 1],
])('a judge that %s is asked as often as a model is, and no more', async (_, failure, tries) => {
  const { access, asked } = judgesThatSay(() => {
    throw failure;
  });

  const { counts } = await runIn(newFolder(), access);

  expect(counts).toMatchObject({ total: 20, errorCount: 20 });
  expect(asked).toHaveLength(20 * tries);
});

test('a grade that was lost is made again of the judgement, which is not asked for again', async () => {
  const folder = newFolder();
  const { access, asked } = judgesThatSay(() => 'GRADE: C');
  await runIn(folder, access);
  const other = newFolder();
  for (const name of ['samples.jsonl', 'judgements.jsonl']) {
    const rows = await readJsonLines<object>(join(folder, name));
    appendFileSync(join(other, name), rows.map((row) => `${JSON.stringify(row)}\n`).join(''));
  }

  const again = await runIn(other, access);

  expect(asked).toHaveLength(20);
  expect(again.asked).toEqual([]);
  expect(again.counts.rewardSum).toBe(20);
});

test('what a judge said is used again in other runs, unless it is to be fresh', async () => {
  const cache = newFolder();
  const { access, asked } = judgesThatSay(() => 'GRADE: C', cache);
  await runIn(newFolder(), access);

  const folder = newFolder();
  const second = await runIn(folder, access);

  expect(asked).toHaveLength(20);
  expect(second.counts.rewardSum).toBe(20);
  expect((await rowsIn(folder)).every((row) => row.is_cached)).toBe(true);
  expect(readdirSync(cache).length).toBeGreaterThan(0);

  const fresh = await openWith(GRADER, access, { judges: [judgeCalled('judge', { isFresh: true })] });
  await fresh.grader.grade('answer to question 1', {
    ...EXAMPLE,
    messages: [{ role: 'user', content: 'question 1' }],
  });
  await fresh.close();
  expect(asked).toHaveLength(21);
});

test.each([
  ['model', judgeCalled('other')],
  ['temperature', judgeCalled('judge', { temperature: 1 })],
  ['limit', judgeCalled('judge', { maxTokens: 7 })],
  ['vote', judgeCalled('judge', { vote: 1 })],
])('another %s is asked for itself', async (_what, judge) => {
  const { access, asked } = judgesThatSay(() => 'GRADE: C', newFolder());

  for (const judges of [[judgeCalled('judge')], [judge]]) {
    const { grader, close } = await openWith(GRADER, access, { judges });
    await grader.grade('Paris', EXAMPLE);
    await close();
  }

  expect(asked).toHaveLength(2);
});

test('several judges decide by majority, each asked once', async () => {
  const { access, asked } = judgesThatSay((_request, model) => `GRADE: ${model === 'strict' ? 'I' : 'C'}`);
  const judges = ['kind', 'strict', 'fair'].map((model) => judgeCalled(model));

  const { grader, close } = await openWith(GRADER, access, { judges });
  const score = await grader.grade('Paris', EXAMPLE);
  await close();

  expect(score).toMatchObject({ value: 1, answer: 'C', details: { votes: ['C', 'I', 'C'] } });
  expect(asked.map(({ model }) => model).sort()).toEqual(['fair', 'kind', 'strict']);
});

test('completions with the same words are judged once, also at the same time', async () => {
  const { access, asked } = judgesThatSay(() => 'GRADE: C');
  const { grader, close } = await openWith(GRADER, access);

  await Promise.all([grader.grade('Paris', EXAMPLE), grader.grade('Paris', EXAMPLE)]);
  await close();

  expect(asked).toHaveLength(1);
});

test('a baseline is asked as a model of its own and journalled like a judgement', async () => {
  const folder = newFolder();
  const { access, asked } = judgesThatSay((_request, model) => (model === 'base' ? 'Lyon' : '[[A]]'));
  const baseline = judgeCalled('base');
  const opponent = {
    stamp: 'base',
    answerFor: (desk: Parameters<NonNullable<typeof GRADER.judging>['vote']>[0]) =>
      desk.askModel(baseline, { stage: 'baseline', messages: EXAMPLE.messages, maxTokens: 9 }),
  };
  const { grader, close } = await openWith(judgedGrader(pairwise({ opponent, by: 'judge' })), access, {
    folder,
  });

  const score = await grader.grade('Paris', EXAMPLE);
  await close();

  expect(score).toMatchObject({ value: 0.5, answer: 'tie', metrics: { flipped: 1 } });
  expect(asked.map(({ model }) => model)).toEqual(['base', 'judge', 'judge']);
  expect((await rowsIn(folder)).map(({ stage }) => stage)).toEqual(['baseline', 'game-1', 'game-2']);
});

test('refuses to judge without a judge', async () => {
  const { access } = judgesThatSay(() => 'GRADE: C');

  await expect(openWith(GRADER, access, { judges: [] })).rejects.toThrow(/--judge MODEL/);
  expect(() => GRADER.grade('x', EXAMPLE)).toThrow(/--judge MODEL/);
});

test('an attempt that was overtaken asks for no more judgements', async () => {
  const folder = newFolder();
  const { access, asked } = judgesThatSay(() => 'GRADE: C');
  const old = await openWith(GRADER, access, { folder, epoch: 1 });
  const next = await openWith(GRADER, access, { folder, epoch: 2 });

  await expect(old.grader.grade('Paris', EXAMPLE)).rejects.toMatchObject({ code: 'superseded' });
  await old.close();
  await next.close();

  expect(asked).toEqual([]);
  expect(existsSync(join(folder, 'judgements.jsonl'))).toBe(true);
});
