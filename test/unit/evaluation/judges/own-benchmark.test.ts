import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { Server } from 'node:http';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import type { BenchmarkRequest } from '../../../../src/core/benchmark-run';
import { runBenchmarkShard } from '../../../../src/evaluation/runner/benchmark-shard';
import { finishBenchmark } from '../../../../src/evaluation/runner/finish-benchmark';
import { planBenchmark } from '../../../../src/evaluation/runner/plan-benchmark';
import { loadResult } from '../../../../src/stores/eval-store';
import { dependenciesOf, requestOf } from '../runner/evaluate-here';
import { modelThatSays, newFolder } from '../runner/fake-model';
import { endpointAccess, judgesAt } from './endpoint-judges';

const ROWS = `data: { rows: () => [{ q: 'Greet Ada.' }, { q: 'Greet Bob.' }] }, toExample: ({ q }) => ({ prompt: q, target: 'polite' })`;
const RUBRIC = `judge: { rubric: ['is polite', 'has a name'] }`;

let server: Server;
let asked: string[];

beforeEach(async () => {
  asked = [];
  server = createServer((request, response) => {
    void text(request).then((body) => {
      if (request.method === 'POST') asked.push(body);
      const content = body.includes('[Rubric]: has a name') ? '<score>0.5</score>' : '<score>1</score>';
      const choice = { message: { role: 'assistant', content }, finish_reason: 'stop' };
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify(request.method === 'GET' ? { data: [] } : { choices: [choice] }));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
});

afterEach(async () => {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

function pluginFile(...declarations: string[]): string {
  const path = join(newFolder(), 'everstep.config.ts');
  writeFileSync(path, `export const benchmarks = { ${declarations.join(', ')} };`);
  return path;
}

/** What the workflow does, with a way to judges. */
async function evaluate(request: BenchmarkRequest) {
  const model = modelThatSays((question) => `Hello: ${question}`);
  const dependencies = { ...dependenciesOf(model.completer), judges: endpointAccess() };
  const planned = await planBenchmark(dependencies, request);
  const place = { run: request.run, folder: request.folder, benchmark: planned.name };
  const signal = new AbortController().signal;
  for (const shard of planned.pendingShards) {
    const attempt = { epoch: planned.starts * 1000, signal, onProgress: () => undefined };
    await runBenchmarkShard(dependencies, { ...place, shard }, attempt);
  }
  if (!planned.finished) await finishBenchmark(dependencies, place, planned.starts);
  return { answered: model.asked.length, result: await loadResult(request.folder, planned.name) };
}

test('a benchmark with a rubric is judged by the model that is named, once, and again by another', async () => {
  const plugins = pluginFile(`greetings: { ${ROWS}, ${RUBRIC} }`);
  const request = requestOf({
    benchmark: 'greetings',
    ...{ plugins, judges: judgesAt(server), judgesFor: ['greetings'] },
  });

  const first = await evaluate(request);
  await evaluate(request);
  const folder = join(newFolder(), 'again');
  const again = await evaluate({
    ...request,
    ...{ folder, judges: judgesAt(server, 'other'), samplesFrom: request.folder },
  });

  expect(first.result).toMatchObject({
    score: 0.75,
    num_errors: 0,
    identity: { judges: [{ model: 'judge' }] },
  });
  expect(asked.map((body) => (JSON.parse(body) as { model: string }).model).sort()).toEqual([
    ...Array.from({ length: 4 }, () => 'judge'),
    ...Array.from({ length: 4 }, () => 'other'),
  ]);
  expect(again).toMatchObject({ answered: 0, result: { score: 0.75 } });
});

test('another rubric gives no old score', async () => {
  const request = { benchmark: 'greetings', judges: judgesAt(server), judgesFor: ['greetings'] };
  const before = requestOf({ ...request, plugins: pluginFile(`greetings: { ${ROWS}, ${RUBRIC} }`) });
  await evaluate(before);
  const plugins = pluginFile(`greetings: { ${ROWS}, judge: { rubric: ['is short'] } }`);

  await expect(evaluate({ ...before, plugins })).rejects.toThrow(/grader/);
});

test('judges that no benchmark of a plug-in file would ask are refused, and stand beside one that is judged', async () => {
  const counted = `counted: { ${ROWS}, grader: () => 1 }`;
  const plugins = pluginFile(counted, `greetings: { ${ROWS}, ${RUBRIC} }`);
  const asking = { benchmark: 'counted', plugins, judges: judgesAt(server) };
  const plan = (judgesFor: string[]) =>
    planBenchmark(dependenciesOf(modelThatSays(() => '').completer), requestOf({ ...asking, judgesFor }));

  await expect(plan(['counted'])).rejects.toThrow(
    /^--judge: counted is not judged by a model\. .*"judge".*rubric/,
  );
  await expect(plan(['counted', 'gsm8k'])).rejects.toThrow(/none of counted, gsm8k is judged/);
  await expect(plan(['counted', 'greetings'])).resolves.toMatchObject({ name: 'counted' });
});

test.each([
  [`judge: { rubric: ['a'] }, grader: () => 1`, /judge: stands in place of a grader/],
  [`judge: { rubric: [] }`, /judge\.rubric/],
  [`judge: { template: 'x', scale: [1, 5] }`, /"template" and "instructions" are of methods/],
  [`judge: { words: 'x' }`, /words/],
])('%s is refused', async (written, problem) => {
  const plugins = pluginFile(`greetings: { ${ROWS}, ${written} }`);

  await expect(evaluate(requestOf({ benchmark: 'greetings', plugins }))).rejects.toThrow(problem);
});
