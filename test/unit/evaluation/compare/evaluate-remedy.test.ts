import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { compareMany } from '../../../../src/evaluation/compare/compare-results';
import type { NewEvalRun } from '../../../../src/stores/eval-run-store';
import { EvalStore } from '../../../../src/stores/eval-run-store';
import { rowsOf, storeBenchmark } from './stored-results';

const ENDPOINT = { type: 'endpoint', url: 'http://127.0.0.1:9/v1', api: 'chat', model: 'm-a' };
const PLUGINS = '/home/me/my project/bench.config.ts';

let store: string;

beforeEach(() => {
  store = mkdtempSync(join(tmpdir(), 'everstep-remedy-'));
});

afterEach(() => {
  rmSync(store, { recursive: true });
});

interface Evaluated extends Partial<NewEvalRun> {
  readonly benchmark: string;
  readonly model?: object;
  readonly request?: object;
  readonly judges?: readonly object[];
}

async function evaluated(runId: string, { benchmark, model = ENDPOINT, ...rest }: Evaluated): Promise<void> {
  const { request, judges, ...run } = rest;
  await new EvalStore(store).createRun({ modelName: 'm', runId, config: { model }, ...run });
  const folder = join(store, 'evals', runId);
  storeBenchmark(folder, benchmark, { rows: rowsOf([1]) });
  mkdirSync(join(folder, benchmark, 'journal'));
  const plan = { request: { model, ...request }, identity: { ...(judges && { judges }) } };
  writeFileSync(join(folder, benchmark, 'journal', 'plan.json'), JSON.stringify(plan));
}

function trained(run: string, step: number, benchmark: string): void {
  storeBenchmark(join(store, 'runs', run, 'evals', String(step)), benchmark, { rows: rowsOf([1]) });
}

async function refusalOf(a: string, b: string, benchmarks?: readonly string[]): Promise<string> {
  const error: unknown = await compareMany([a, b], { store, ...(benchmarks && { benchmarks }) }).catch(
    (reason: unknown) => reason,
  );
  return error instanceof Error ? error.message : 'none';
}

test('a benchmark of a plug-in is evaluated with its file on the step that has it not', async () => {
  await evaluated('ea', { benchmark: 'clus', request: { plugins: PLUGINS } });
  trained('mix', 4, 'held_out');

  const text = await refusalOf('mix@4', 'ea');

  expect(text).toContain(`e.g. \`everstep eval clus --plugins '${PLUGINS}' --checkpoint mix@4\`.`);
  expect(text).not.toContain('runs compare');
});

test('an evaluation of an endpoint is named by its model and address', async () => {
  await evaluated('ea', { benchmark: 'mbpp', model: { ...ENDPOINT, api: 'completions' } });
  await evaluated('sft', { benchmark: 'gsm8k', checkpointName: 'sft@20' });

  expect(await refusalOf('ea', 'sft')).toContain('e.g. `everstep eval mbpp --checkpoint sft@20`.');
  expect(await refusalOf('sft', 'ea')).toContain(
    'e.g. `everstep eval gsm8k --model m-a --endpoint http://127.0.0.1:9/v1 --api completions`.',
  );
});

test('judges are named where the benchmark is judged, and one of several votes once', async () => {
  const judge = { model: { ...ENDPOINT, model: 'j' } };
  const request = { plugins: '/p.ts', judges: [judge, judge] };
  await evaluated('ea', { benchmark: 'facts', request, judges: [{}, {}] });
  await evaluated('eb', { benchmark: 'letters', request });
  trained('mix', 4, 'held_out');

  expect(await refusalOf('ea', 'mix')).toContain(
    '`everstep eval facts --plugins /p.ts --judge j@http://127.0.0.1:9/v1 --checkpoint mix@4`',
  );
  expect(await refusalOf('eb', 'mix')).toContain(
    '`everstep eval letters --plugins /p.ts --checkpoint mix@4`',
  );
});

test('base models of an engine and weights without a name are asked where they are', async () => {
  const engine = { type: 'engine', model: 'base/m', url: 'http://127.0.0.1:8', path: null, label: null };
  await evaluated('base', { benchmark: 'mbpp', model: engine });
  await evaluated('weights', { benchmark: 'gsm8k', model: { ...engine, path: 'tinker://x/y' } });

  expect(await refusalOf('weights', 'base')).toContain(
    '`everstep eval gsm8k --model base/m --engine http://127.0.0.1:8`',
  );
  expect(await refusalOf('base', 'weights')).toContain(
    '`everstep eval mbpp --model base/m --engine http://127.0.0.1:8 --checkpoint tinker://x/y`',
  );
});

test('two training runs are both named, and compared by value where they are two', async () => {
  trained('one', 2, 'own');
  trained('two', 6, 'other');
  trained('one', 8, 'other');

  const text = await refusalOf('one@2', 'two', ['gsm8k']);

  expect(text).toContain(
    '`everstep eval gsm8k --checkpoint one@2` and `everstep eval gsm8k --checkpoint two@6`',
  );
  expect(text).toContain('or give both runs the same evaluators. ');
  expect(text).toMatch(/`everstep runs compare one two`$/);
  // Evaluators of a run are no benchmarks that `eval` knows.
  expect(await refusalOf('one@2', 'one@8')).toMatch(/ Give both runs the same evaluators\.$/);
});

test('a task of Inspect is called as Inspect calls it', async () => {
  const inspectTask = { task: '/tasks/my sums.py@sums', args: {} };
  await evaluated('ea', { benchmark: 'inspect_sums', request: { inspectTask } });
  trained('mix', 4, 'held_out');

  expect(await refusalOf('ea', 'mix')).toContain(
    "`everstep eval '/tasks/my sums.py@sums' --checkpoint mix@4`",
  );
});

test('what is begun on the other side is to be ended, and not evaluated once more', async () => {
  await evaluated('ea', { benchmark: 'gsm8k' });
  mkdirSync(join(store, 'evals', 'en', 'gsm8k', 'journal'), { recursive: true });

  const text = await refusalOf('ea', 'en');

  expect(text).toContain('gsm8k of en ends with the command that began it, given again.');
  expect(text).not.toContain('everstep eval');
});

test('a step whose weights are not kept is not evaluated: the nearest that can be is named', async () => {
  await evaluated('ea', { benchmark: 'gsm8k' });
  trained('mix', 299, 'held_out');
  const run = { config: { engine: {}, loraRank: 8 }, engineUrl: 'http://127.0.0.1:1', initialPath: null };
  writeFileSync(join(store, 'runs', 'mix', 'config.json'), JSON.stringify(run));

  expect(await refusalOf('ea', 'mix@299')).toContain('e.g. nothing of mix, of which no weights are kept.');

  const row = { step: 300, name: '300', state_path: null, sampler_path: 'tinker://a/300' };
  writeFileSync(join(store, 'runs', 'mix', 'checkpoints.jsonl'), `${JSON.stringify(row)}\n`);
  expect(await refusalOf('ea', 'mix@299')).toContain(
    '`everstep eval gsm8k --checkpoint mix@300` (the weights of step 299 are not kept; of run "mix" those of steps 300 are)',
  );
});
