import { join } from 'node:path';
import { DomainError } from '../../../../src/core/errors';
import { parseEndpointUrl } from '../../../../src/engines/openai/endpoint-address';
import { GivenUpError } from '../../../../src/engines/openai/given-up';
import { runShard } from '../../../../src/evaluation/runner/run-shard';
import type { GradeRow } from '../../../../src/evaluation/runner/shard-rows';
import { readJsonLines } from '../../../../src/stores/json-lines';
import {
  examplesOf,
  EXACT,
  modelThatSays,
  newFolder,
  resultIn,
  subjectOf,
  targetOf,
  taskOf,
} from './fake-model';

const TO = {
  address: parseEndpointUrl('http://host/v1'),
  path: '/chat/completions',
  model: 'm',
  apiKey: undefined,
};
const givenUp = (): Error => new GivenUpError(TO, 30_000, { reason: '500: no', cause: undefined });

const failedIn = async (folder: string): Promise<GradeRow[]> =>
  (await readJsonLines<GradeRow>(join(folder, 'grades.jsonl'))).filter(({ error }) => error !== undefined);

test('what its endpoint gave up after long is an error of its example at once, and the others go on', async () => {
  const folder = newFolder();
  const { completer, asked } = modelThatSays((question) => {
    if (question === 'question 3') throw givenUp();
    return targetOf(question);
  });

  const counts = await runShard(taskOf(completer, folder));

  expect(counts).toMatchObject({ done: 20, rewardSum: 19 });
  expect(asked.filter((question) => question === 'question 3')).toHaveLength(1);
  const [failed] = await failedIn(folder);
  expect(failed?.example_id).toBe('q_3');
  expect(failed?.error).toContain('500: no');
});

test('another failure of the server is tried a few times', async () => {
  const { completer, asked } = modelThatSays(() => {
    throw new DomainError('request-failed', 'answers with a malformed choice.', { category: 'server' });
  });

  await runShard(taskOf(completer, newFolder(), { examples: examplesOf(1) }));

  expect(asked).toHaveLength(3);
});

test('a judge whose request was given up is not asked again', async () => {
  const folder = newFolder();
  const { completer } = modelThatSays(targetOf);
  let judgedCount = 0;
  const grader = {
    ...EXACT,
    grade() {
      judgedCount += 1;
      throw givenUp();
    },
  };

  await runShard(taskOf(completer, folder, { subject: subjectOf({ grader }), examples: examplesOf(1) }));

  expect(judgedCount).toBe(1);
  expect(await failedIn(folder)).toHaveLength(1);
});

test.each([
  ['a text', '1 '.repeat(2 ** 21)],
  ['reasoning', `<think>${'1 '.repeat(2 ** 21)}</think>1`],
])(
  '%s of 4 MB is journalled, judged and written to the result without reading it again and again',
  async (_, text) => {
    const folder = newFolder();
    const subject = subjectOf();
    const examples = examplesOf(1);
    const { completer } = modelThatSays(() => text);
    const begin = process.cpuUsage();

    const counts = await runShard(taskOf(completer, folder, { examples }));
    await resultIn(folder, subject, examples);

    expect(counts).toMatchObject({ done: 1 });
    // A second or less; what grows with the square of a text takes minutes.
    expect(process.cpuUsage(begin).user).toBeLessThan(30e6);
  },
);
