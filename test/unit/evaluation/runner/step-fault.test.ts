import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { EnvironmentStep, MessageEnvironment } from '../../../../src/core/environment';
import { loadPlugins } from '../../../../src/evaluation/plugins';
import type { Example } from '../../../../src/evaluation/example';
import { findBenchmark } from '../../../../src/evaluation/benchmarks';
import { graderFromFunction } from '../../../../src/evaluation/benchmarks/grader-function';
import type { Grader } from '../../../../src/evaluation/graders/grader';
import { runShard } from '../../../../src/evaluation/runner/run-shard';
import type { ExampleSubject, ShardTask } from '../../../../src/evaluation/runner/shard-task';
import { loadTrajectories } from '../../../../src/stores/eval-store';
import { examplesOf, modelThatSays, newFolder, resultIn, subjectOf, targetOf, taskOf } from './fake-model';

const WRONG = examplesOf(6)[2]?.id;

async function resultOf(changes: Partial<ExampleSubject>, options: Partial<ShardTask> = {}) {
  const [folder, examples, subject] = [newFolder(), examplesOf(6), subjectOf(changes)];
  await runShard(taskOf(modelThatSays(targetOf).completer, folder, { examples, subject, ...options }));
  const stored = await resultIn(folder, subject, examples);
  const trajectories = await loadTrajectories(folder, 'bench');
  return { stored, wrong: trajectories.filter(({ error }) => error !== null) };
}

function cycle(): object {
  const around: Record<string, unknown> = {};
  around['self'] = around;
  return around;
}

const FAULTY: readonly (readonly [string, object, string])[] = [
  ['NaN as a metric', { metrics: { a: NaN } }, 'metric "a" must be a finite number, not NaN'],
  [
    'Infinity as a metric',
    { metrics: { a: 1, b: Infinity } },
    'metric "b" must be a finite number, not Infinity',
  ],
  ['a text as a metric', { metrics: { a: '1' } }, `metric "a" must be a finite number, not '1'`],
  ['a BigInt as a metric', { metrics: { a: 10n } }, 'metric "a" must be a finite number, not 10n'],
  ['a cycle as a metric', { metrics: { a: cycle() } }, 'metric "a" must be a finite number, not'],
  ['a list of metrics', { metrics: [1] }, 'metrics must be an object of numbers, not'],
  [
    'a cycle in details',
    { details: { a: cycle() } },
    'details cannot be stored as JSON: Converting circular',
  ],
  [
    'a BigInt in details',
    { details: { a: 1n } },
    'details cannot be stored as JSON: Do not know how to serialize a BigInt',
  ],
  ['a BigInt as explanation', { explanation: 1n }, 'explanation cannot be stored as JSON'],
];

test.each(FAULTY)('of a grader, %s is the error of its example alone', async (_, part, said) => {
  const grader = graderFromFunction({
    name: 'mine',
    version: 'mine@1',
    judge: (_completion, { id }) => ({ value: 1, answer: 'x', metrics: { a: 1 }, ...(id === WRONG && part) }),
  });

  const { stored, wrong } = await resultOf({ grader });

  expect(stored).toMatchObject({ num_errors: 1, num_examples: 6, metrics: { a: 1 } });
  expect(wrong).toMatchObject([
    { example_id: WRONG, error: expect.stringContaining(`grader: mine: ${said}`) as string },
  ]);
});

const STEPS: readonly (readonly [string, object, string])[] = [
  ['a metric', { metrics: { turns: NaN } }, 'metric "turns" must be a finite number, not NaN'],
  ['a reward', { reward: NaN }, 'the reward must be a finite number, not NaN'],
  ['a log', { logs: { state: cycle() } }, 'logs.state cannot be stored as JSON: Converting circular'],
  ['an answer', { answer: 5n }, 'answer cannot be stored as JSON'],
  [
    'a message',
    { isDone: false, nextMessages: [{ role: 'user', content: 5n }] },
    'nextMessages cannot be stored',
  ],
];

test.each(STEPS)(
  'of an environment, %s that cannot be stored is the error of its example',
  async (_, part, said) => {
    const step: EnvironmentStep = { reward: 1, isDone: true, nextMessages: [], metrics: { turns: 1 } };
    const environment = (example: { readonly id: string }): MessageEnvironment => ({
      initialObservation: () => ({ messages: [{ role: 'user', content: `Say ${example.id}` }] }),
      step: () => ({ ...step, ...(example.id === WRONG && part) }),
    });

    const { stored, wrong } = await resultOf({ environment });

    expect(stored).toMatchObject({ num_errors: 1, metrics: { turns: 1 } });
    expect(wrong).toMatchObject([
      { example_id: WRONG, error: expect.stringContaining(`environment: ${said}`) as string },
    ]);
  },
);

test('an environment whose step returns nothing fails its example', async () => {
  const source = `export const benchmarks = { odd: {
    data: { rows: () => [] }, toExample: () => null,
    environment: () => ({ initialObservation: () => ({ messages: [] }), step: async () => undefined }) } };`;
  const path = join(newFolder(), 'everstep.config.mjs');
  writeFileSync(path, source);
  const odd = findBenchmark('odd', await loadPlugins(path));
  const environment = (example: Example): MessageEnvironment => {
    const made = odd.environment?.(example);
    if (!made) throw new Error('it has no environment');
    return made;
  };

  await expect(resultOf({ environment })).rejects.toThrow(
    'All 6 examples failed, the first with: environment: a step must be an object, not undefined',
  );
});

test('an environment that never begins is the error of its example, in time', async () => {
  const environment = ({ id, target }: Example): MessageEnvironment => ({
    initialObservation: () =>
      id === WRONG
        ? new Promise(() => undefined)
        : { messages: [{ role: 'user', content: `Say ${target}` }] },
    step: () => ({ reward: 1, isDone: true, nextMessages: [] }),
  });

  const { stored, wrong } = await resultOf({ environment }, { timeoutMs: 50 });

  expect(stored).toMatchObject({ num_errors: 1, num_correct: 5 });
  expect(wrong).toMatchObject([{ example_id: WRONG, error: 'environment: timeout (0.05s)' }]);
});

test.each([
  ['returns nothing', () => undefined],
  [
    'throws',
    () => {
      throw new Error('busy');
    },
  ],
])('an environment whose close %s keeps its score', async (_, close) => {
  const environment = (): MessageEnvironment => ({
    initialObservation: () => ({ messages: [{ role: 'user', content: 'Say it' }] }),
    step: () => ({ reward: 1, isDone: true, nextMessages: [] }),
    close: close as unknown as () => Promise<void>,
  });

  const { stored } = await resultOf({ environment });

  expect(stored).toMatchObject({ num_errors: 0, num_correct: 6 });
});

test.each([
  [{ summarize: () => ({ rate: NaN }) }, 'its summarize gave a wrong rate:'],
  [{ summarize: () => undefined }, 'its summarize gave a wrong result: Invalid input'],
  [
    {
      summarize() {
        throw new TypeError('no such key');
      },
    },
    'its summarize failed: no such key',
  ],
  [{ total: () => ({ score: Infinity }) }, 'its total gave a wrong score:'],
  [{ total: () => ({ ci: [0] }) }, 'its total gave a wrong ci'],
])('a grader that sums up badly is named: %#', async (sums, said) => {
  const judged = graderFromFunction({ name: 'mine', version: 'mine@1', judge: () => ({ value: 1 }) });
  const grader = { ...judged, ...sums } as unknown as Grader;

  await expect(resultOf({ grader })).rejects.toMatchObject({
    code: 'bad-plugin',
    message: expect.stringContaining(`grader mine: ${said}`) as string,
  });
});

test('where workers died, an environment is made, begun, stepped and put away by itself, under the name of its example', async () => {
  const [folder, examples] = [newFolder(), examplesOf(3)];
  const mark = join(folder, 'attempt.json');
  writeFileSync(mark, JSON.stringify({ deaths: 2, judging: null, counts: {} }));
  const noted: (readonly [string, string, boolean])[] = [];
  const note = (stage: string, id: string) => {
    const { judging } = JSON.parse(readFileSync(mark, 'utf8')) as { judging: string | null };
    noted.push([id, stage, judging !== null]);
  };
  const environment = ({ id }: Example): MessageEnvironment => {
    note('make', id);
    return {
      initialObservation() {
        note('begin', id);
        return { messages: [{ role: 'user', content: `Say ${id}` }] };
      },
      step() {
        note('step', id);
        return { reward: 1, isDone: true, nextMessages: [] };
      },
      async close() {
        note('close', id);
      },
    };
  };
  const subject = subjectOf({ environment });

  await runShard(taskOf(modelThatSays(targetOf).completer, folder, { examples, subject }));

  const stages = ['make', 'begin', 'step', 'close'];
  for (const { id } of examples) {
    expect(noted.filter(([of]) => of === id)).toEqual(stages.map((stage) => [id, stage, true]));
  }
});
