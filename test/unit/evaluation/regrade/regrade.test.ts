import { mkdirSync, readdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Completer } from '../../../../src/core/completion';
import { DomainError } from '../../../../src/core/errors';
import { runBenchmarkShard } from '../../../../src/evaluation/runner/benchmark-shard';
import { finishBenchmark } from '../../../../src/evaluation/runner/finish-benchmark';
import { planBenchmark } from '../../../../src/evaluation/runner/plan-benchmark';
import { loadResult, loadTrajectories } from '../../../../src/stores/eval-store';
import { readJsonLines } from '../../../../src/stores/json-lines';
import { until } from '../../../workflows/harness/runs';
import { dependenciesOf, evaluate } from '../runner/evaluate-here';
import { modelThatSays } from '../runner/fake-model';
import { answerTo, EXACT, Sums } from './sums';

const NEVER: Completer = {
  complete: () => Promise.reject(new Error('the model is asked')),
  close: async () => undefined,
};
const ALWAYS_WRONG = '() => 0';

/** Lists in one another. */
const nested = (depth: number): object =>
  Array.from({ length: depth }).reduce<object>((inner) => [inner], []);

let sums: Sums;

beforeEach(() => {
  sums = new Sums();
});

type Dependencies = ReturnType<typeof dependenciesOf>;

const placeOf = () => {
  const { run, folder } = sums.request();
  return { run, folder, benchmark: 'sums' };
};
const shardOf = (dependencies: Dependencies) =>
  runBenchmarkShard(
    dependencies,
    { ...placeOf(), shard: 0 },
    { epoch: 1000, signal: new AbortController().signal, onProgress: () => undefined },
  );
const finishOf = (dependencies: Dependencies) => finishBenchmark(dependencies, placeOf(), 1);

const first = () => evaluate(modelThatSays(answerTo).completer, sums.request());
const again = () => evaluate(NEVER, sums.request());
const regrade = () => evaluate(NEVER, sums.request({ isRegrading: true }));
const stored = () => loadResult(sums.request().folder, 'sums');

test('grades the stored answers with the present grader, and keeps the old verdicts beside the new ones', async () => {
  await first();
  const before = await stored();
  sums.write({ grader: ALWAYS_WRONG });

  const summary = await regrade();

  const { folder } = sums.request();
  const result = await stored();
  const [grading] = result?.regraded ?? [];
  const old = join(folder, 'sums', 'gradings', '1');
  const rewardsIn = async (place: string) =>
    (await loadTrajectories(place, 'sums')).map(({ reward }) => reward);
  expect(summary).toMatchObject({ score: 0, numExamples: 4, numErrors: 0 });
  expect(result?.identity.graderVersion).not.toBe(before?.identity.graderVersion);
  expect(grading).toEqual({
    at: expect.stringMatching(/^\d{4}-.*Z$/) as string,
    grader: result?.identity.graderVersion,
    before: { grader: before?.identity.graderVersion, score: 0.75, folder: 'gradings/1/sums' },
  });
  expect(await loadResult(old, 'sums')).toEqual(before);
  expect(await rewardsIn(old)).toEqual([1, 1, 1, 0]);
  expect(await rewardsIn(folder)).toEqual([0, 0, 0, 0]);
  expect(await again()).toEqual(summary);
});

test('a changed grader is refused by its name, with what can be done about it', async () => {
  await first();
  sums.write({ grader: ALWAYS_WRONG });

  const refused = again();

  await expect(refused).rejects.toMatchObject({ code: 'refused' });
  await expect(refused).rejects.toThrow(/was begun with the grader "sums@\w+", and "sums@\w+" is asked for/);
  await expect(refused).rejects.toThrow('`everstep results regrade eval-one`');
  await expect(refused).rejects.toThrow('--run NAME --answers-from eval-one');
});

test('a changed comment costs no answer', async () => {
  await first();
  sums.write({ head: '// read by nobody' });

  expect(await regrade()).toMatchObject({ score: 0.75, numErrors: 0 });
});

test('references that changed are graded against, and the refusal names them', async () => {
  await first();
  sums.writeRows({ 4: 'no idea' });

  await expect(again()).rejects.toThrow(/the references of the examples .* results regrade eval-one/);

  expect(await regrade()).toMatchObject({ score: 1 });
  expect(await again()).toMatchObject({ score: 1 });
});

test.each(['sums', 'sums/gradings', 'sums/gradings/1', 'sums/journal', 'sums/journal/shard-0'])(
  'nothing is written through a link at %s, which whoever sent an eval run may have put there',
  async (name) => {
    await first();
    const link = join(sums.request().folder, name);
    const elsewhere = join(sums.folder, 'elsewhere');
    mkdirSync(link, { recursive: true });
    renameSync(link, elsewhere);
    symlinkSync(elsewhere, link);
    const before = readdirSync(elsewhere, { recursive: true });
    sums.write({ grader: ALWAYS_WRONG });

    await expect(regrade()).rejects.toMatchObject({
      code: 'refused',
      message: expect.stringContaining(`${JSON.stringify(link)} is a link`) as string,
    });
    await expect(again()).rejects.toMatchObject({ code: 'refused' });

    expect(readdirSync(elsewhere, { recursive: true })).toEqual(before);
  },
);

test('examples that a grader failed on are graded without being asked again', async () => {
  sums.write({ grader: "(reply) => { if (reply !== '2') throw new Error('a bug'); return 1; }" });
  const failed = await first();
  sums.write();

  const mended = await regrade();

  expect(failed).toMatchObject({ numErrors: 3, score: 0.25 });
  expect(mended).toMatchObject({ numErrors: 0, score: 0.75 });
});

test('a grading that was cut off goes on, whoever goes on with it, and its old score is not told as the new one', async () => {
  await first();
  sums.write({ grader: ALWAYS_WRONG });
  await planBenchmark(dependenciesOf(NEVER), sums.request({ isRegrading: true }));

  const planned = await planBenchmark(dependenciesOf(NEVER), sums.request());
  const summary = await again();

  expect(planned).toMatchObject({ finished: null, pendingShards: [0] });
  expect(summary).toMatchObject({ score: 0, numErrors: 0 });
  expect((await stored())?.regraded).toHaveLength(1);
});

test('a grading whose worker dies goes on with what it had judged', async () => {
  await first();
  const hold = join(sums.folder, 'hold');
  writeFileSync(hold, '');
  sums.write({
    grader: `async (reply, { target }) => {
      while (target === '5' && require('node:fs').existsSync(${JSON.stringify(hold)}))
        await new Promise((soon) => setTimeout(soon, 5));
      return 0;
    }`,
  });
  const dependencies = dependenciesOf(NEVER);
  const { starts } = await planBenchmark(dependencies, sums.request({ isRegrading: true }));
  const { run, folder } = sums.request();
  const grades = join(folder, 'sums', 'journal', 'shard-0', 'grades.jsonl');
  const dying = new AbortController();
  const shard = runBenchmarkShard(
    dependencies,
    { run, folder, benchmark: 'sums', shard: 0 },
    { epoch: starts * 1000, signal: dying.signal, onProgress: () => undefined },
  );
  await until(async () => ((await readJsonLines(grades)).length === 7 ? true : null));
  dying.abort(new Error('killed'));
  await expect(shard).rejects.toThrow();
  rmSync(hold);

  expect(await regrade()).toMatchObject({ score: 0, numExamples: 4, numErrors: 0 });

  expect(await readJsonLines(grades)).toHaveLength(8);
  expect((await stored())?.regraded).toHaveLength(1);
});

test.each([
  ['is asked', shardOf],
  ['ends', finishOf],
])('a grader that changes before a planned benchmark %s is not told as the planned one', async (_, goOn) => {
  const dependencies = dependenciesOf(modelThatSays(answerTo).completer);
  await planBenchmark(dependencies, sums.request());
  sums.write({ grader: ALWAYS_WRONG });

  const refused = goOn(dependencies);

  await expect(refused).rejects.toMatchObject({ code: 'refused' });
  await expect(refused).rejects.toThrow(
    /was planned with the grader "sums@\w+", and this worker has "sums@\w+"/,
  );
});

test('the same again changes nothing', async () => {
  await first();
  sums.write({ grader: ALWAYS_WRONG });
  await regrade();
  const before = await stored();

  const planned = await planBenchmark(dependenciesOf(NEVER), sums.request({ isRegrading: true }));

  expect(planned.finished).toMatchObject({ score: 0 });
  expect(await stored()).toEqual(before);
});

test('a second grading stands behind the first', async () => {
  await first();
  sums.write({ grader: ALWAYS_WRONG });
  await regrade();
  sums.write({ grader: EXACT });

  expect(await regrade()).toMatchObject({ score: 0.75 });

  const scores = (await stored())?.regraded?.map(({ before }) => [before.folder, before.score]);
  expect(scores).toEqual([
    ['gradings/1/sums', 0.75],
    ['gradings/2/sums', 0],
  ]);
});

test('prompts that left no room stay what they are', async () => {
  const narrow = modelThatSays((question) => {
    if (question.startsWith('2')) throw new DomainError('context-overflow', 'no room');
    return answerTo(question);
  });
  await evaluate(narrow.completer, sums.request());
  sums.write({ grader: '() => 1' });

  expect(await regrade()).toMatchObject({ score: 0.75, numErrors: 0, numTruncated: 1 });
});

test.each([
  ['prompts', { prompt: '`${a}+1 = ?`' }, 'other questions than there are now'],
  ['sampling parameters', { generation: '{ maxTokens: 9, temperature: 0 }' }, '--max-tokens 8, and 9'],
])('other %s are not graded as if they had been asked', async (_, changes, message) => {
  await first();
  sums.write(changes);

  const refused = regrade();

  await expect(refused).rejects.toMatchObject({ code: 'refused' });
  await expect(refused).rejects.toThrow(message);
  expect(await stored()).toMatchObject({ score: 0.75 });
});

test('what is unfinished and unchanged is gone on with, not graded', async () => {
  await planBenchmark(dependenciesOf(NEVER), sums.request());

  await expect(regrade()).rejects.toThrow('is not finished, and its grader is as it was');
});

test('an unfinished evaluation has its answers graded, and the same command asks for the rest', async () => {
  sums.write({ grader: "() => { throw new Error('a bug'); }" });
  const flaky = modelThatSays((question) => {
    if (question.startsWith('3')) throw new Error('connection reset');
    return answerTo(question);
  });
  await expect(evaluate(flaky.completer, sums.request())).rejects.toThrow('All 4 examples failed');
  sums.write();

  const graded = await regrade();
  const mended = modelThatSays(answerTo);
  const finished = await evaluate(mended.completer, sums.request());

  expect(graded).toMatchObject({ numErrors: 1, score: 0.5 });
  expect(mended.asked).toEqual(['3+1=']);
  expect(finished).toMatchObject({ numErrors: 0, score: 0.75 });
});

const TURNS = (hint: string) => `(example) => ({
  initialObservation: () => ({ messages: example.messages }),
  step: ({ content }) => (content === 'more'
    ? { reward: 0, isDone: false, nextMessages: [{ role: 'user', content: '${hint}' }] }
    : { reward: Number(content === example.target), isDone: true, nextMessages: [] }),
})`;
const inTurns = (question: string) => (question.includes('+') ? 'more' : '2');

test('conversations of several turns are played again with the answers they had, also to other references', async () => {
  sums.write({ environment: TURNS('Go on.') });
  const { completer, asked } = modelThatSays(inTurns);
  const before = await evaluate(completer, sums.request());
  sums.writeRows({ 2: '2' });

  const after = await regrade();

  expect(asked).toHaveLength(8);
  expect(before).toMatchObject({ score: 0.25 });
  expect(after).toMatchObject({ score: 0.5, numErrors: 0 });
});

test('a benchmark without a journal, and one that a model judges, are refused', async () => {
  await expect(regrade()).rejects.toThrow('has no journal of sums');

  const judges = [
    { model: sums.request().model, temperature: 0, topP: 1, concurrency: 1, timeoutSeconds: 1 },
  ];
  const judged = sums.request({ benchmark: 'arena_hard', isRegrading: true, judges });
  await expect(evaluate(NEVER, judged)).rejects.toThrow('everstep results rejudge eval-one --judge MODEL');
});

describe('answers of another eval run', () => {
  const beside = (changes: object = {}) =>
    sums.request({ run: 'eval-two', answersFrom: sums.request().folder, ...changes });

  test('are taken where the prompts are equal; the others are asked for', async () => {
    await first();
    sums.write({ grader: '() => 1', prompt: "a === 1 ? 'One plus one?' : `${a}+1=`" });
    const { completer, asked } = modelThatSays(() => '2');

    const summary = await evaluate(completer, beside());

    expect(asked).toEqual(['One plus one?']);
    expect(summary).toMatchObject({ score: 1, numExamples: 4 });
    expect((await loadResult(beside().folder, 'sums'))?.answers).toEqual({
      folder: sums.request().folder,
      taken: 3,
    });
    expect(await stored()).toMatchObject({ score: 0.75 });
  });

  test('are all taken after a change of the grader or of the references', async () => {
    await first();
    sums.write({ grader: ALWAYS_WRONG });
    sums.writeRows({ 1: '7' });

    expect(await evaluate(NEVER, beside())).toMatchObject({ score: 0, numErrors: 0 });
  });

  test('of more samples, only those that are there', async () => {
    await first();
    const { completer, asked } = modelThatSays(answerTo);

    await evaluate(completer, beside({ numSamples: 2 }));

    expect(asked).toHaveLength(4);
  });

  test('of several turns are taken turn by turn', async () => {
    sums.write({ environment: TURNS('Go on.') });
    await evaluate(modelThatSays(inTurns).completer, sums.request());
    sums.write({ environment: TURNS('Go on!') });
    const { completer, asked } = modelThatSays(inTurns);

    await evaluate(completer, beside());

    expect(asked).toEqual(['Go on!', 'Go on!', 'Go on!', 'Go on!']);
  });

  test.each([
    [{ temperature: 1 }, '--temperature 0, and 1 is asked for'],
    [{ systemPrompt: 'Add.' }, '--system-prompt unset, and "Add." is asked for'],
  ])('asked otherwise are refused: %j', async (changes, message) => {
    await first();

    const refused = evaluate(NEVER, beside(changes));

    await expect(refused).rejects.toMatchObject({ code: 'refused' });
    await expect(refused).rejects.toThrow(message);
  });

  test('are those that are there, whatever number of samples a plan says', async () => {
    await first();
    sums.changePlan({ numSamples: 10_000 });
    const { completer, asked } = modelThatSays(() => '2');

    expect(await evaluate(completer, beside({ numSamples: 2 }))).toMatchObject({ numExamples: 8 });
    expect(asked).toHaveLength(4);
  });

  test.each([
    [{ numSamples: Number.MAX_SAFE_INTEGER }, '"numSamples" has to be a whole number from 1 to 10000'],
    [{ numSamples: undefined }, '"numSamples" is missing'],
    [{ base: { toString: 1 } }, '"base" has to be a text'],
    [{ examplesFile: 5 }, '"examplesFile" has to be a text'],
    [
      { shards: [{ exampleCount: {}, offset: 0, bytes: 9 }] },
      '"shards[0].exampleCount" has to be a whole number',
    ],
    [{ shards: [{ exampleCount: 1, offset: 0 }] }, '"shards[0].bytes" is missing'],
    [
      { shards: Array.from({ length: 9 }, () => ({ exampleCount: 4, offset: 0, bytes: 300 })) },
      '"shards[1].offset" has to be 300, where the shard before it ends',
    ],
    [
      { shards: Array.from({ length: 9 }, () => ({ exampleCount: 0, offset: 0, bytes: 0 })) },
      '"shards[0].bytes" has to be above 0',
    ],
    [{ identity: { sampling: nested(200) } }, 'it nests more than 100 deep'],
    [{ request: { maxExamples: {} } }, '"request.maxExamples" has to be a whole number from 1 on'],
  ])('of a plan with %j are refused by file and field', async (changes, fault) => {
    await first();
    sums.changePlan(changes);

    const refused = evaluate(NEVER, beside());

    await expect(refused).rejects.toMatchObject({ code: 'bad-config' });
    await expect(refused).rejects.toThrow(`${JSON.stringify(sums.planFile)} is damaged: ${fault}`);
    await expect(regrade()).rejects.toThrow(fault);
  });

  test('of a run that has none, and of the run itself, are refused', async () => {
    await expect(evaluate(NEVER, beside())).rejects.toThrow('has no journal of sums');
    await expect(evaluate(NEVER, sums.request({ answersFrom: sums.request().folder }))).rejects.toThrow(
      'is the eval run itself',
    );
  });
});
