import { statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Everstep } from '../../src/client/everstep';
import { loadResult } from '../../src/stores/eval-store';
import { DyingStack } from './harness/dying-stack';
import { JudgeEndpoint } from './harness/judge-endpoint';
import { reportOf, TestRuns } from './harness/runs';
import type { TestStack } from './harness/stack';
import type { KeptWorker } from './harness/worker-process';

let dying: DyingStack;
let stack: TestStack;
let sampling: KeptWorker;

beforeAll(async () => {
  dying = await DyingStack.start();
  ({ stack, sampling } = dying);
});

afterAll(() => dying.stop());

/** What a plug-in does without meaning it: each once with nobody else's code in the way. */
const CARELESS = `
const turn = () => new Promise((resolve) => setImmediate(resolve));
const evaluator = (name, evaluate) => () => ({ name, kind: 'sampling', evaluate });
const fs = require('node:fs');
const path = require('node:path');
const spinning = (name) => path.join(__dirname, 'spinning-' + name);
module.exports = { evaluators: {
  late: evaluator('late', async () => {
    setTimeout(() => { throw new Error('too late'); }, 20);
    await new Promise(() => {});
  }),
  after: evaluator('after', async () => {
    setTimeout(() => { throw new Error('nobody asked'); }, 0);
    return { quality: 0.5 };
  }),
  micro: evaluator('micro', async () => {
    queueMicrotask(() => { throw new Error('too soon'); });
    await new Promise(() => {});
  }),
  huge: evaluator('huge', async () => { throw new Error('H'.repeat(2e7)); }),
  leaving: evaluator('leaving', async () => { process.exit(3); }),
  spinning: evaluator('spinning', async () => {
    // The honest one is at work in its first process.
    while (!fs.existsSync(spinning('honest'))) await turn();
    fs.appendFileSync(spinning('tries'), '.');
    for (;;);
  }),
  honest: evaluator('honest', async () => {
    // In the first process it is at work until that ends.
    const isFirst = !fs.existsSync(spinning('honest'));
    fs.writeFileSync(spinning('honest'), '');
    if (isFirst) await new Promise(() => {});
    return { quality: 1 };
  }),
} };
`;

test('code that throws where nobody waits for it, leaves or never stops costs its own evaluator alone, which is named', async () => {
  const runs = new TestRuns(stack);
  const plugins = join(stack.folder, 'careless.config.js');
  writeFileSync(plugins, CARELESS);
  const evaluators = ['late', 'after', 'micro', 'huge', 'leaving', 'spinning', 'honest'].map((name) => ({
    ...{ type: 'plugin', name, evaluator: name, options: {} },
  }));
  const config = runs.config({
    ...{ plugins, steps: 4, batchSize: 4, saveEvery: 0 },
    schedules: [{ name: 'each', every: { steps: 2 }, atStart: false, evaluators }],
  });

  const report = await reportOf(await runs.start('careless', config));

  expect(report).toMatchObject({ status: 'completed', step: 4 });
  const scores = await stack.store.readScores('careless');
  const last = scores.filter(({ step }) => step === 4).map(({ key, value, error }) => [key, value ?? error]);
  const toldOf = (key: string) => last.find(([each]) => each === key)?.[1];
  expect(toldOf('test/honest/quality')).toBe(1);
  expect(toldOf('test/after/quality')).toBe(0.5);
  expect(toldOf('late/error')).toMatch(
    /^It threw in a timer, an event or a callback, where nothing catches it: too late \(at \S*careless\.config\.js:9:\d+\)\.$/,
  );
  expect(toldOf('micro/error')).toMatch(/^It threw in a timer, an event or a callback, .*: too soon /);
  expect(toldOf('huge/error')).toMatch(/^H{10000}… \(thrown at /);
  expect(toldOf('leaving/error')).toMatch(/^process\.exit\(\) would end the worker/);
  expect(toldOf('spinning/error')).toMatch(
    /^The worker's process was ended because of this evaluator, again and again: it kept the worker from everything else for \d+ s at \S*careless\.config\.js:\d+\.$/,
  );
  // Twice in the first step, and once more in the other: it is known by then.
  expect(statSync(join(stack.folder, 'spinning-tries')).size).toBe(3);
  const said = sampling.said();
  expect(said).toMatch(/evaluator ."after." of step \d of run ."careless.", which is over, threw in a timer/);
  expect(said).toContain('evaluator "spinning" of step 2 of run "careless" at /');
});

/** A plug-in file that can be prepared, and not be loaded by the workers that measure. */
const SPINNING = `
if (process.argv.includes('sampling')) for (;;);
module.exports = { benchmarks: { words: {
  data: { rows: () => ['a', 'b'].map((word) => ({ word })) },
  toExample: ({ word }) => ({ prompt: word, target: word }),
  grader: (reply, { target }) => reply === target,
  generation: { maxTokens: 4 },
} } };
`;

test('a plug-in file that never comes to its end costs the evaluators that need it', async () => {
  const runs = new TestRuns(stack);
  const plugins = join(stack.folder, 'spinning.config.js');
  writeFileSync(plugins, SPINNING);
  const evaluators = [{ type: 'benchmark', name: 'words', benchmark: 'words' }];
  const config = runs.config({
    ...{ plugins, steps: 2, batchSize: 4, saveEvery: 0 },
    schedules: [{ name: 'once', every: { steps: 2 }, atStart: false, evaluators }],
  });

  const report = await reportOf(await runs.start('unloadable', config));

  expect(report).toMatchObject({ status: 'completed', step: 2 });
  const scores = await stack.store.readScores('unloadable');
  expect(scores.map(({ key, error }) => [key, error])).toEqual([
    [
      'words/error',
      expect.stringMatching(/because of this evaluator, again and again: .* at \S*spinning\.config\.js:2\.$/),
    ],
  ]);
});

test('a plug-in file that never comes to its end costs the benchmarks that need it', async () => {
  const plugins = join(stack.folder, 'spinning-benchmark.config.js');
  writeFileSync(plugins, SPINNING);
  const harmless = join(stack.folder, 'harmless.config.js');
  writeFileSync(harmless, SPINNING.replace('for (;;);', ';'));
  const endpoint = await JudgeEndpoint.start((_model, prompt) => prompt);
  const everstep = await Everstep.connect({
    ...{ address: stack.address, namespace: stack.namespace, dataFolder: stack.folder },
    store: join(stack.folder, 'store'),
  });
  const evaluate = (run: string, file: string) =>
    everstep.evaluate(['words'], { ...{ run, model: 'echo', endpoint: endpoint.url }, plugins: file });
  try {
    const [bad, good] = await Promise.all([evaluate('unloadable', plugins), evaluate('beside', harmless)]);

    expect((await bad.result())?.failures).toEqual([
      expect.objectContaining({
        message: expect.stringMatching(
          /again and again: .* at \S*spinning-benchmark\.config\.js:2\.$/,
        ) as string,
      }),
    ]);
    expect((await good.result())?.failures).toEqual([]);
    expect(await loadResult(good.folder, 'words')).toMatchObject({ score: 1, num_errors: 0 });
  } finally {
    await everstep.close();
    await endpoint.close();
  }
});

/** A plug-in file that workers load so often before it stands still, and in which place. */
function spinningLater({ afterLoads, top = '', summary = '' }: Spinning): string {
  return `
const fs = require('node:fs');
const isMeasuring = process.argv.includes('sampling');
const loads = () => (fs.existsSync(__filename + '.loads') ? fs.statSync(__filename + '.loads').size : 0);
const isTime = isMeasuring && loads() >= ${afterLoads};
if (isMeasuring) fs.appendFileSync(__filename + '.loads', '.');
${top}
const words = {
  data: { rows: () => ['a', 'b'].map((word) => ({ word })) },
  toExample: ({ word }) => ({ prompt: word, target: word }),
  grader: {
    ...{ name: 'words', version: '1', grade: (reply, { target }) => ({ value: Number(reply.text === target) }) },
    summarize: () => { ${summary} return {}; },
  },
  generation: { maxTokens: 4 },
};
module.exports = { benchmarks: { words } };
`;
}

interface Spinning {
  readonly afterLoads: number;
  readonly top?: string;
  readonly summary?: string;
}

const SPIN = 'if (isTime) for (;;);';

test.each<[string, Spinning]>([
  ['when a shard loads it', { afterLoads: 1, top: SPIN }],
  ['when the judgements are summed up', { afterLoads: 2, summary: SPIN }],
])('a plug-in file that never comes to its end %s costs the benchmark', async (when, spinning) => {
  const run = when.replaceAll(' ', '-');
  const plugins = join(stack.folder, `${run}.config.js`);
  writeFileSync(plugins, spinningLater(spinning));
  const endpoint = await JudgeEndpoint.start((_model, prompt) => prompt);
  const everstep = await Everstep.connect({
    ...{ address: stack.address, namespace: stack.namespace, dataFolder: stack.folder },
    store: join(stack.folder, 'store'),
  });
  try {
    const evaluation = await everstep.evaluate(['words'], {
      ...{ run, model: 'echo', endpoint: endpoint.url, plugins },
    });

    expect((await evaluation.result())?.failures.map(({ message }) => message)).toEqual([
      expect.stringMatching(/again and again: .* at \S*\.config\.js:\d+\.$/),
    ]);
  } finally {
    await everstep.close();
    await endpoint.close();
  }
});

test('a task of a plug-in file that never comes to its end while it is measured fails', async () => {
  const plugins = join(stack.folder, 'spinning-task.config.js');
  writeFileSync(
    plugins,
    `const { choiceByPerplexity } = require('everstep');
module.exports = { kinds: { digits: choiceByPerplexity({
  name: 'digits',
  data: { rows: () => [{ index: 1 }] },
  get: () => { for (;;); },
}) } };`,
  );
  const everstep = await Everstep.connect({
    ...{ address: stack.address, namespace: stack.namespace, dataFolder: stack.folder },
    store: join(stack.folder, 'store'),
  });
  try {
    const engine = { engine: stack.engine.url, model: 'everstep/tiny' };
    const evaluation = await everstep.evaluate('digits', { ...engine, run: 'spinning-task', plugins });

    expect((await evaluation.result())?.failures.map(({ message }) => message)).toEqual([
      expect.stringMatching(/again and again: .* at \S*spinning-task\.config\.js:5\.$/),
    ]);
  } finally {
    await everstep.close();
  }
});

test('a plug-in file that never comes to its end costs the cells of a backfill that need it', async () => {
  const runs = new TestRuns(stack);
  await runs.train(
    'filled',
    runs.config({ steps: 2, batchSize: 4, saveEvery: 2, evaluators: [], evalEvery: 0 }),
  );
  const plugins = join(stack.folder, 'spinning-backfill.config.js');
  writeFileSync(plugins, SPINNING);
  const everstep = await Everstep.connect({
    ...{ address: stack.address, namespace: stack.namespace, dataFolder: stack.folder },
    store: join(stack.folder, 'store'),
  });
  try {
    const asked = { runs: ['filled'], benchmarks: ['words'], steps: 'last', maxExamples: 2 };

    const outcome = await (await everstep.backfill({ ...asked, maxTokens: 4, plugins })).result();

    const cells = outcome && 'value' in outcome ? outcome.value.cells : [];
    expect(cells.map(({ benchmark, status, reason }) => [benchmark, status, reason])).toEqual([
      [
        'words',
        'failed',
        expect.stringMatching(/again and again: .* at \S*spinning-backfill\.config\.js:2\.$/),
      ],
    ]);
  } finally {
    await everstep.close();
  }
});
