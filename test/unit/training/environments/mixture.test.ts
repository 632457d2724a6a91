import { largestRemainders } from '../../../../src/core/largest-remainders';
import { EnvironmentConfig } from '../../../../src/config/environment-config';
import { buildEnvironments } from '../../../../src/training/environments/build-environments';
import { listedDataset } from '../../../../src/training/environments/listed-dataset';
import { mixedEnvironments } from '../../../../src/training/environments/mixture';

function problems(name: string, count: number, testCount = 0) {
  const groupOf = (id: string) => ({
    id,
    tags: ['sums'],
    make: () => ({
      initialObservation: () => ({ messages: [] }),
      step: () => ({ reward: 0, isDone: true, nextMessages: [] }),
    }),
  });
  const ids = (kind: string, length: number) =>
    Array.from({ length }, (_, index) => `${name}${kind}${index}`);
  const test = testCount === 0 ? null : listedDataset(name, ids('t', testCount), { groupOf, test: null });
  return listedDataset(name, ids('-', count), { groupOf, test });
}

function firstGroups(dataset: ReturnType<typeof mixedEnvironments>, count: number, seed = 1): string[] {
  const orderOf = dataset.orderOf?.(seed) ?? (() => 0);
  return Array.from({ length: count }, (_, number) => dataset.groupAt(orderOf(number)).id);
}

test('gives each part its share of every thousand groups, in an order that the seed decides', () => {
  const parts = [
    { name: 'many', weight: 3, dataset: problems('a', 5000) },
    { name: 'few', weight: 1, dataset: problems('b', 10) },
  ];

  const ids = firstGroups(mixedEnvironments(parts), 2000);

  for (const start of [0, 1000]) {
    const block = ids.slice(start, start + 1000);
    expect(block.filter((id) => id.startsWith('b'))).toHaveLength(250);
  }
  expect(firstGroups(mixedEnvironments(parts), 2000)).toEqual(ids);
  expect(firstGroups(mixedEnvironments(parts), 2000, 2)).not.toEqual(ids);
  // Shuffled, not one after the other.
  expect(new Set(ids.slice(0, 8).map((id) => id[0])).size).toBe(2);
});

test('repeats a small part in passes and cuts no large one short', () => {
  const dataset = mixedEnvironments([
    { name: 'many', weight: 1, dataset: problems('a', 900) },
    { name: 'few', weight: 1, dataset: problems('b', 10) },
  ]);

  const ids = firstGroups(dataset, 4000);

  const many = ids.filter((id) => id.startsWith('a'));
  const few = ids.filter((id) => id.startsWith('b'));
  expect(new Set(many.slice(0, 900)).size).toBe(900);
  for (let pass = 0; pass < 20; pass++) expect(new Set(few.slice(pass * 10, pass * 10 + 10)).size).toBe(10);
});

test('any group can be asked for first, and later ones do not depend on it', () => {
  const dataset = mixedEnvironments([
    { name: 'one', weight: 2, dataset: problems('a', 7) },
    { name: 'two', weight: 1, dataset: problems('b', 9) },
  ]);
  const inOrder = firstGroups(dataset, 3000);

  const orderOf = dataset.orderOf?.(1) ?? (() => 0);

  for (const number of [2999, 3, 1500, 0]) expect(dataset.groupAt(orderOf(number)).id).toBe(inOrder[number]);
});

test('tags problems by their part, and measures the held-out problems of all parts in turns', () => {
  const dataset = mixedEnvironments([
    { name: 'one', weight: 1, dataset: problems('a', 3, 1) },
    { name: 'two', weight: 1, dataset: problems('b', 3, 3) },
    { name: 'untested', weight: 1, dataset: problems('c', 3) },
  ]);

  const tested = Array.from({ length: dataset.test?.length ?? 0 }, (_, index) =>
    dataset.test?.groupAt(index),
  );

  expect(dataset.length).toBe(9);
  expect(dataset.groupAt(4).tags).toEqual(['two', 'sums']);
  expect(tested.map((group) => group?.id)).toEqual(['at0', 'bt0', 'bt1', 'bt2']);
  expect(tested[0]?.tags).toEqual(['one', 'sums']);
});

test('tells of a part once, under its name, and together of parts that are of one type', () => {
  const tagsOf = (...parts: readonly (readonly [name: string, type: string])[]) => {
    const dataset = mixedEnvironments(
      parts.map(([name, type]) => ({ name, weight: 1, dataset: problems(type, 1, 1) })),
    );
    return parts.map((_, index) => [dataset.groupAt(index).tags, dataset.test?.groupAt(index).tags]);
  };

  expect(tagsOf(['easy', 'sums'], ['b', 'other'])).toEqual([
    [['easy'], ['easy']],
    [
      ['b', 'sums'],
      ['b', 'sums'],
    ],
  ]);
  expect(tagsOf(['easy', 'sums'], ['hard', 'sums'])[0]?.[0]).toEqual(['easy', 'sums']);
  // One name for two parts tells them apart no more.
  expect(tagsOf(['own', 'sums'], ['own', 'other'])[0]?.[0]).toEqual(['own', 'sums']);
  expect(tagsOf(['easy', 'sums'], ['sums', 'sums'])[0]?.[0]).toEqual(['easy', 'sums']);
});

test('parts of a plug-in file are called as the environments there, and tags that somebody chose stay', async () => {
  const environmentOf = (tags?: readonly string[]) => ({
    problems: ['a', 'b'],
    ...(tags && { tags: () => tags }),
    make: () => ({
      initialObservation: () => ({ messages: [] }),
      step: () => ({ reward: 0, isDone: true, nextMessages: [] }),
    }),
  });
  const environments = new Map([
    ['lookup', environmentOf()],
    ['echo', environmentOf(['echo', 'short'])],
  ]);
  const config = (first: object) =>
    EnvironmentConfig.parse({
      type: 'mixture',
      parts: [
        { environment: { type: 'plugin', environment: 'lookup' }, ...first },
        { environment: { type: 'plugin', environment: 'echo' }, name: 'second' },
      ],
    });
  const tagsWith = async (first: object) => {
    const dataset = await buildEnvironments(config(first), {
      readBenchmarkRows: () => Promise.reject(new Error('reads nothing')),
      plugins: { file: 'everstep.config.ts', benchmarks: new Map(), environments },
      seed: 0,
    });
    return [0, dataset.length - 1].map((index) => dataset.groupAt(index).tags);
  };

  expect(await tagsWith({})).toEqual([['lookup'], ['second', 'echo', 'short']]);
  expect(await tagsWith({ name: 'first' })).toEqual([['first'], ['second', 'echo', 'short']]);
});

test('is built from a config, by the names of its environments', async () => {
  const config = EnvironmentConfig.parse({
    type: 'mixture',
    parts: [
      { environment: { type: 'arithmetic', digits: 1 }, weight: 2, name: 'short' },
      { environment: { type: 'twenty_questions' } },
    ],
  });

  const dataset = await buildEnvironments(config, {
    readBenchmarkRows: () => Promise.reject(new Error('reads nothing')),
    plugins: { file: null, benchmarks: new Map() },
    seed: 0,
  });

  expect(dataset.groupAt(0).tags).toEqual(['short']);
  expect(dataset.groupAt(dataset.length - 1).tags[0]).toBe('twenty_questions');
  expect(dataset.test?.length).toBeGreaterThan(8);
});

test.each([
  [[1, 1, 1], 10, [4, 3, 3]],
  [[3, 1], 1000, [750, 250]],
  [[1000, 1, 1], 10, [8, 1, 1]],
])('shares %j of %i are %j', (weights, total, expected) => {
  expect(largestRemainders(weights, total)).toEqual(expected);
});
