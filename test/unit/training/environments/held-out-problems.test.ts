import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { EnvironmentConfig } from '../../../../src/config/environment-config';
import { NO_PLUGINS } from '../../../../src/evaluation/plugins';
import { createDatasetReader } from '../../../../src/training/dataset-source';
import { buildEnvironments } from '../../../../src/training/environments/build-environments';
import type {
  EnvironmentBounds,
  EnvironmentDataset,
} from '../../../../src/training/environments/environment-dataset';
import { splitDataset } from '../../../../src/training/environments/listed-dataset';
import { judgesThatSay } from '../../evaluation/judges/fake-judges';
import { newFolder } from '../../evaluation/runner/fake-model';

const folder = newFolder();

function written(name: string, rows: readonly object[]): string {
  const path = join(folder, name);
  writeFileSync(path, rows.map((row) => JSON.stringify(row)).join('\n'));
  return path;
}

function build(environment: object): Promise<EnvironmentDataset> {
  const { access } = judgesThatSay(() => 'GRADE: C');
  return buildEnvironments(EnvironmentConfig.parse(environment), {
    ...{ plugins: NO_PLUGINS, seed: 0, readBenchmarkRows: () => Promise.reject(new Error('reads nothing')) },
    judging: {
      ...{ access, readDataset: createDatasetReader({ cacheFolder: newFolder() }), own: { model: 'own' } },
      generation: { maxTokens: 8, temperature: 1 },
    },
  });
}

function groupsOf(dataset: EnvironmentDataset) {
  return Array.from({ length: dataset.length }, (_, index) => dataset.groupAt(index));
}

const BOUNDS: EnvironmentBounds = {
  maxToolCalls: null,
  toolExecution: 'parallel',
  askJudges: (grader) => grader,
};

async function questionsOf(dataset: EnvironmentDataset): Promise<string[]> {
  const questions: string[] = [];
  for (const group of groupsOf(dataset)) {
    const { messages } = await group.make(0, BOUNDS).initialObservation();
    questions.push(JSON.stringify(messages));
  }
  return questions;
}

const numbers = Array.from({ length: 12 }, (_, index) => index);
const ENVIRONMENTS = {
  math: () => ({
    type: 'math',
    path: written(
      'math.jsonl',
      [...numbers, ...numbers].map((n) => ({ problem: `What is ${n} + 1?`, answer: `${n + 1}` })),
    ),
  }),
  search: () => ({
    type: 'search',
    corpus: written('corpus.jsonl', [{ text: 'Tom.' }]),
    questions: written(
      'search.jsonl',
      [...numbers, ...numbers].map((n) => ({ question: `Who is ${n}?`, answer: `Tom ${n}` })),
    ),
  }),
  modelGraded: () => ({
    type: 'modelGraded',
    judge: { model: 'judge', endpoint: 'http://127.0.0.1:1/v1' },
    dataset: {
      path: written(
        'chats.jsonl',
        [...numbers, ...numbers].map((n) => ({
          messages: [
            { role: 'user', content: `Say ${n}` },
            { role: 'assistant', content: `${n}` },
          ],
        })),
      ),
    },
  }),
};

test.each(['math', 'search', 'modelGraded'] as const)(
  'of %s with every row twice, none that is held out is trained on, and each is held out once',
  async (type) => {
    const dataset = await build({ ...ENVIRONMENTS[type](), testSize: 5 });
    const trained = await questionsOf(dataset);
    const held = dataset.test ? await questionsOf(dataset.test) : [];

    expect([held.length, new Set(held).size, trained.length]).toEqual([5, 5, 14]);
    expect(trained.filter((question) => held.includes(question))).toEqual([]);
    const places = [...groupsOf(dataset), ...(dataset.test ? groupsOf(dataset.test) : [])].map(
      ({ place }) => place?.address,
    );
    const told = (dataset.leftOut ?? []).map(({ place, reason }) => `${place.address} ${reason}`);
    expect(told).toHaveLength(5);
    const lines = [...places, ...told.map((text) => text.replace(' the test set asks the same.', ''))];
    const numberOf = (address: string | undefined) => Number(address?.replace(/^.*:/, ''));
    expect(lines.map(numberOf).sort((a, b) => a - b)).toEqual(
      [...numbers, ...numbers].map((_, index) => index + 1),
    );
  },
);

test('rows of a test file are not trained on, and told', async () => {
  const chat = (content: string) => ({
    messages: [
      { role: 'user', content },
      { role: 'assistant', content: 'ok' },
    ],
  });
  const dataset = {
    path: written('trained.jsonl', ['a', 'b', 'c'].map(chat)),
    testPath: written('tested.jsonl', ['b', 'd'].map(chat)),
  };

  const built = await build({ ...ENVIRONMENTS.modelGraded(), dataset });
  expect(groupsOf(built).map(({ place }) => place?.address)).toEqual([
    `${dataset.path}:1`,
    `${dataset.path}:3`,
  ]);
  expect(built.leftOut).toEqual([
    { place: { file: dataset.path, line: 2 }, reason: 'the test set asks the same.' },
  ]);
});

const groupOf = (id: string) => ({
  id,
  tags: [],
  make: () => {
    throw new Error('not played');
  },
});
const idsOf = (dataset: EnvironmentDataset | null) => (dataset ? groupsOf(dataset).map(({ id }) => id) : []);

test('never holds out more than half of the problems that differ', () => {
  const problems = 'aaaaaaaabbbbcccc'.split('');
  const dataset = splitDataset('letters', problems, { groupOf, testSize: 100 });

  const [held] = idsOf(dataset.test);
  expect(idsOf(dataset.test)).toHaveLength(1);
  expect(idsOf(dataset)).toHaveLength(problems.filter((letter) => letter !== held).length);
  expect(splitDataset('one', 'aaaa'.split(''), { groupOf, testSize: 2 })).toMatchObject({
    length: 4,
    test: null,
  });
});

test('problems that all differ are held out as ever: the last of a fixed shuffle', () => {
  const dataset = splitDataset('letters', 'abcdefgh'.split(''), { groupOf, testSize: 3 });

  expect([idsOf(dataset).join(''), idsOf(dataset.test).join('')]).toEqual(['fdech', 'bag']);
});
