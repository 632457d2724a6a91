import type { TrainingConfigInput } from '../../../src/client';
import { completeTrainingConfig, defineConfig, defineEnvironment, definePlugins } from '../../../src/client';

const dataset = { path: 'data/arithmetic/train.jsonl' };

describe('a config written in TypeScript', () => {
  test('may leave out what has a default, and write the short forms of a file', () => {
    const config = defineConfig({
      kind: 'sft',
      model: 'everstep/tiny',
      dataset,
      steps: 20,
      lrSchedule: 'cosine',
      evaluators: ['arithmetic', { type: 'benchmark', benchmark: 'gsm8k', maxExamples: 8 }],
    });

    expect(completeTrainingConfig(config)).toMatchObject({
      steps: 20,
      lrSchedule: { type: 'cosine', warmupSteps: 0 },
      evaluators: [{ benchmark: 'arithmetic' }, { benchmark: 'gsm8k', maxExamples: 8 }],
    });
  });

  test('of reinforcement, too', () => {
    const config = defineConfig({
      kind: 'rl',
      model: 'everstep/tiny',
      environment: { type: 'arithmetic' },
      rolloutErrorTolerance: 'retry',
      lossFunction: 'ppo',
    });

    expect(completeTrainingConfig(config)).toMatchObject({
      rolloutErrorTolerance: { type: 'retry', maxRetries: 3 },
      lossFunction: 'ppo',
    });
  });

  test('is what a complete config may be, too', () => {
    const config: TrainingConfigInput = completeTrainingConfig({
      kind: 'sft',
      model: 'everstep/tiny',
      dataset,
    });

    expect(completeTrainingConfig(config)).toEqual(config);
  });

  // Each line is refused by the compiler, or `check:lint` fails; and as JavaScript by the schema.
  test.each([
    // @ts-expect-error -- misspelt
    () => completeTrainingConfig({ kind: 'sft', modell: 'x', dataset }),
    // @ts-expect-error -- no number
    () => completeTrainingConfig({ kind: 'sft', model: 'x', dataset, learningRate: 'fast' }),
    // @ts-expect-error -- a key of the other kind
    () => completeTrainingConfig({ kind: 'sft', model: 'x', dataset, groupSize: 8 }),
    // @ts-expect-error -- no such kind
    () => completeTrainingConfig({ kind: 'dpo', model: 'x', dataset }),
    // @ts-expect-error -- no such schedule
    () => completeTrainingConfig({ kind: 'sft', model: 'x', dataset, lrSchedule: 'step' }),
    () =>
      completeTrainingConfig({
        kind: 'sft',
        model: 'x',
        dataset,
        // @ts-expect-error -- misspelt in an evaluator
        evaluators: [{ type: 'benchmark', bench: 'gsm8k' }],
      }),
    () =>
      completeTrainingConfig(
        // @ts-expect-error -- misspelt
        defineConfig({ kind: 'sft', model: 'x', dataset, learningRat: 0.1 }),
      ),
    () =>
      completeTrainingConfig(
        // @ts-expect-error -- misspelt further down
        defineConfig({ kind: 'sft', model: 'x', dataset: { path: 'x', pathh: 1 } }),
      ),
  ])('%#. is refused where it is written', (write) => {
    expect(write).toThrow(/The config/);
  });
});

describe('what a plug-in file exports', () => {
  test('is returned as it is', () => {
    const environment = defineEnvironment({
      problems: [{ word: 'one' }],
      make: ({ word }) => ({
        initialObservation: () => ({ messages: [{ role: 'user', content: word }] }),
        step: ({ content }) => ({ reward: Number(content === word), isDone: true, nextMessages: [] }),
      }),
    });
    const plugins = definePlugins({
      environments: {
        fixed: environment,
        built: ({ count = 1 }: { count?: number }) => ({ ...environment, count }),
      },
      losses: { mine: ({ logprobs }) => ({ loss: 0, slopes: Array.from(logprobs, () => 0) }) },
      rewardShaping: { none: (played) => played.map(() => ({ reward: 0 })) },
      graders: { exact: (reply, { target }) => reply === target },
    });

    expect(plugins.environments.fixed).toBe(environment);
    expect(plugins.environments.built({ count: 2 })).toMatchObject({ count: 2 });
  });

  test('has its types', () => {
    const begin = { initialObservation: () => ({ messages: [] }) };
    const environment = { problems: [1], make: () => ({ ...begin, step: () => ({}) }) };
    // @ts-expect-error -- a step without a reward
    definePlugins({ environments: { environment } });
    // @ts-expect-error -- slopes are numbers
    definePlugins({ losses: { wrong: () => ({ loss: 0, slopes: ['a'] }) } });
    // @ts-expect-error -- no grade of a rollout
    definePlugins({ rewardShaping: { wrong: () => 'good' } });
    // @ts-expect-error -- misspelt
    definePlugins({ enviroments: {} });
    // @ts-expect-error -- misspelt beside one that is known
    definePlugins({ graders: {}, enviroments: {} });
    const given = { data: { path: 'x' }, toExample: () => ({ prompt: 'x' }), grader: () => 1 };
    // @ts-expect-error -- misspelt in a benchmark
    definePlugins({ benchmarks: { mine: { ...given, versoin: 2 } } });
    // @ts-expect-error -- misspelt where it stands for one that is needed
    definePlugins({ benchmarks: { mine: { ...given, graderr: () => 1 } } });
    definePlugins({
      benchmarks: {
        mine: { ...given, version: 2, grader: (reply, { target }) => reply === target },
        built: ({ size = 1 }: { size?: number }) => ({ ...given, version: size }),
      },
    });
    expect.assertions(0);
  });
});
