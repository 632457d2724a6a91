import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Everstep } from '../../src/client/everstep';
import { loadResult, loadTrajectories } from '../../src/stores/eval-store';
import { TestRuns } from './harness/runs';
import { TestStack } from './harness/stack';

let stack: TestStack;
let everstep: Everstep;
let data: string;

beforeAll(async () => {
  stack = await TestStack.start();
  await stack.startWorkers();
  data = mkdtempSync(join(tmpdir(), 'everstep-kinds-'));
  const texts = ['1+1=2', '= Heading =', '', '10+20=30', '7+8=15'];
  write(
    'wikitext_ppl',
    texts.map((text) => ({ text })),
  );
  write('sst2', [
    { sentence: '1+1=', label: 1 },
    { sentence: '2+2=', label: 0 },
  ]);
  everstep = await Everstep.connect({
    address: stack.address,
    namespace: stack.namespace,
    store: join(stack.folder, 'store'),
    dataFolder: stack.folder,
  });
});

afterAll(async () => {
  await everstep.close();
  await stack.stopWorkers();
  await stack.stop();
  rmSync(data, { recursive: true, force: true });
});

function write(task: string, rows: readonly object[]): void {
  mkdirSync(join(data, task), { recursive: true });
  writeFileSync(join(data, task, 'data.jsonl'), rows.map((row) => `${JSON.stringify(row)}\n`).join(''));
}

function writePlugins(): string {
  const file = join(stack.folder, 'tasks.config.js');
  const source = `const { choiceByPerplexity } = require(${JSON.stringify(join(__dirname, '../../src/evaluation/kinds/choice-by-perplexity'))});
module.exports = { kinds: { digits: ({ count = 3 }) => choiceByPerplexity({
  name: 'digits',
  data: { rows: () => Array.from({ length: count }, (_, index) => ({ index })) },
  get: ({ index }) => ({ prefix: index + '+1=', continuations: [String(index + 1), '#'], correct: 0 }),
}) } };`;
  writeFileSync(file, source);
  return file;
}

test('measures a task on a base model by itself, and finds the result again without asking', async () => {
  const options = { engine: stack.engine.url, model: 'everstep/tiny', dataFolder: data, run: 'texts' };
  const first = await (await everstep.evaluate('wikitext_ppl', options)).result();
  const again = await (await everstep.evaluate('wikitext-ppl', options)).result();

  const result = await loadResult(first?.dir ?? '', 'wikitext_ppl');
  const trajectories = await loadTrajectories(first?.dir ?? '', 'wikitext_ppl');
  const logprobs = trajectories.flatMap(({ logs }) => logs['logprobs'] as number[]);
  const mean = logprobs.reduce((total, logprob) => total + logprob, 0) / logprobs.length;
  expect(first?.failures).toEqual([]);
  expect(result).toMatchObject({ num_examples: 3, num_errors: 0, stderr: null });
  expect(result?.metrics['perplexity']).toBeCloseTo(Math.exp(-mean), 10);
  expect(trajectories.map(({ turns }) => turns.map(({ content }) => content).join(''))).toEqual([
    '1+1=2',
    '10+20=30',
    '7+8=15',
  ]);
  expect(again?.benchmarks).toEqual(first?.benchmarks);
});

test('refuses a task at an endpoint that speaks text', async () => {
  const endpoint = { endpoint: 'http://127.0.0.1:9/v1', model: 'm', dataFolder: data, run: 'spoken' };
  const spoken = await (await everstep.evaluate('sst2', endpoint)).result();

  expect(spoken?.failures[0]).toMatchObject({ code: 'refused' });
  expect(spoken?.failures[0]?.message).toContain('--engine or --checkpoint');
});

test('measures tasks of the catalogue and of a plug-in file while a run trains', async () => {
  const runs = new TestRuns(stack);
  const config = runs.config({
    steps: 4,
    evalEvery: 4,
    plugins: writePlugins(),
    evaluators: [{ type: 'kind', task: 'digits', options: { count: 5 }, maxExamples: 4 }],
  });
  await runs.train('tasks', config);

  const rows = (await stack.store.readScores('tasks')).filter(({ step }) => step === 4);
  const folder = join(stack.folder, 'store/runs/tasks/evals/4');
  const result = await loadResult(folder, 'digits');
  expect(rows).toMatchObject([
    { key: 'test/digits/accuracy', metric: 'accuracy', n: 4, evaluator: 'digits' },
  ]);
  expect(result).toMatchObject({ score: rows[0]?.value, num_examples: 4 });
  expect(await loadTrajectories(folder, 'digits')).toHaveLength(4);
});
