import type { ShardCounts } from '../../../../src/core/benchmark-run';
import { scoreSoFar } from '../../../../src/core/benchmark-run';
import { totalOfParsed } from '../../../../src/evaluation/judges/parsed-total';
import { runShard } from '../../../../src/evaluation/runner/run-shard';
import { examplesOf, modelThatSays, newFolder, resultIn, subjectOf, targetOf, taskOf } from './fake-model';

describe('verdicts that cannot be read, of examples with three samples', () => {
  const VALUES = new Map<string, readonly (number | null)[]>([
    ['0', [1, 1, 0]],
    ['1', [null, 0, 1]],
    ['2', [1, null, null]],
    ['3', [null, null, null]],
  ]);

  async function judge() {
    const { completer } = modelThatSays((question) => targetOf(question));
    const seen = new Map<string, number>();
    const subject = subjectOf({
      numSamples: 3,
      grader: {
        ...{ name: 'judge', version: 'judge@1' },
        total: totalOfParsed,
        grade: (completion) => {
          const target = completion;
          const index = seen.get(target) ?? 0;
          seen.set(target, index + 1);
          const value = VALUES.get(target)?.[index] ?? null;
          return { value: value ?? 0, answer: null, metrics: { unparsed: Number(value === null) } };
        },
      },
    });
    const folder = newFolder();
    const examples = examplesOf(4);
    const told: ShardCounts[] = [];
    const counts = await runShard(
      taskOf(completer, folder, { subject, examples, concurrency: 1, onProgress: (now) => told.push(now) }),
    );
    return { counts, told, result: await resultIn(folder, subject, examples) };
  }

  test('leave the mean over examples of the means of what was judged, under way as in the result', async () => {
    const { counts, told, result } = await judge();

    expect(result.score).toBeCloseTo((2 / 3 + 1 / 2 + 1) / 3, 12);
    expect(result).toMatchObject({ num_examples: 12, metrics: { num_unparsed: 6 } });
    expect(result.score_completed).toBeCloseTo(result.score, 12);
    expect(scoreSoFar(counts)).toBeCloseTo(result.score, 12);
    // One sample of the first example.
    expect(told[0]).toMatchObject({ done: 1, examples: { count: 1, sum: 1, squares: 1 } });
  });

  test('are left out of pass@k: an example counts where k of its samples were judged', async () => {
    const { result } = await judge();

    expect(result.pass_at_k['1']).toBeCloseTo(result.score, 12);
    expect(result.pass_at_k).toMatchObject({ 2: 1, 3: 1 });
    expect(result.metrics['pass_hat_k/2']).toBeCloseTo((1 / 3 + 0) / 2, 12);
    expect(result.metrics['pass_hat_k/3']).toBe(0);
  });
});

test('the score of what was completed is a mean over examples, too', async () => {
  let cutCount = 0;
  const { completer } = modelThatSays((question) => {
    const isFirst = question === 'question 0';
    const isCut = isFirst && cutCount++ === 0;
    const content = isFirst ? targetOf(question) : 'wrong';
    return { message: { role: 'assistant', content }, stopReason: isCut ? 'length' : 'stop' };
  });
  const subject = subjectOf({ numSamples: 2 });
  const folder = newFolder();
  const examples = examplesOf(2);

  await runShard(taskOf(completer, folder, { subject, examples, concurrency: 1 }));

  expect(await resultIn(folder, subject, examples)).toMatchObject({
    ...{ score: 0.25, score_completed: 0.5, num_truncated: 1, num_completed: 3 },
  });
});

test('parts of a point are neither passed nor failed: there is no pass@k of them', async () => {
  const rated = async (parts: readonly number[]) => {
    const { completer } = modelThatSays((question) => targetOf(question));
    let index = 0;
    const subject = subjectOf({
      numSamples: 2,
      grader: {
        ...{ name: 'rated', version: 'rated@1' },
        grade: () => ({ value: parts[index++] ?? 0, answer: null }),
      },
    });
    const folder = newFolder();
    const examples = examplesOf(2);
    await runShard(taskOf(completer, folder, { subject, examples, concurrency: 1 }));
    return resultIn(folder, subject, examples);
  };

  const ratings = await rated([1, 0.5, 0.5, 0]);
  const verdicts = await rated([1, 0, 0, 0]);

  expect(ratings).toMatchObject({ score: 0.5, num_correct: 3, pass_at_k: {} });
  expect(Object.keys(ratings.metrics).filter((name) => name.startsWith('pass_hat_k'))).toEqual([]);
  expect(verdicts).toMatchObject({ score: 0.25, pass_at_k: { '1': 0.25, '2': 0.5 } });
  expect(verdicts.metrics).toMatchObject({ 'pass_hat_k/2': 0 });
});
