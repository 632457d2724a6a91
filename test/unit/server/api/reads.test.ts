import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { z } from 'zod';
import { ErrorBody } from '../../../../src/server/http/error-body';
import { writeBenchmark } from '../../../../src/stores/eval-store';
import type { TestServer } from '../serving';
import { startServer, stateOf, writeRun } from '../serving';

let server: TestServer;

beforeAll(async () => {
  server = await startServer();
  const { store } = server;
  await writeRun(store, 'done', { status: 'completed', step: 30, closedAt: '2026-01-02T04:00:00.000Z' });
  await writeRun(store, 'open', { startedAt: '2026-01-03T00:00:00.000Z' });
  const metrics = await store.openJournal('done', 'metrics', { epoch: 1 });
  for (let step = 1; step <= 30; step++) metrics.append({ step, 'train/nll': 1 / step, 'optim/lr': 0.1 });
  await metrics.close();
  const scores = await store.openJournal('done', 'scores', { epoch: 1 });
  scores.append({
    ...{ step: 10, schedule: 'evaluators', evaluator: 'test', metric: 'nll', key: 'test/nll' },
    ...{ value: 0.5, stderr: 0.1, n: 3, higherIsBetter: false, at: '2026-01-02T03:30:00.000Z' },
  });
  await scores.close();
  const checkpoints = await store.openJournal('done', 'checkpoints', { epoch: 1 });
  checkpoints.append({
    ...{ name: '000010', step: 10, batch: 10, epoch: 0, final: false, elapsed_tokens: 5 },
    ...{ state_path: 'tinker://m/weights/000010', sampler_path: 'tinker://m/sampler_weights/000010' },
    ...{ lineage: 0, incarnation: 0 },
  });
  await checkpoints.close();
  await writeEval(path.join(store.root, 'evals', 'scored'), 5);
  await writeEval(path.join(store.root, 'runs', 'done', 'evals', '10'), 2);
});

afterAll(async () => {
  await server.close();
});

async function writeEval(folder: string, count: number): Promise<void> {
  const trajectories = Array.from({ length: count }, (_, idx) => ({
    ...{ idx, benchmark: 'arithmetic', example_id: `e${idx}`, reward: idx % 2, metrics: {}, logs: {} },
    turns: [
      { role: 'assistant' as const, content: '<script>alert(1)</script>', token_count: 1, metadata: {} },
    ],
    ...{ error: idx === 4 ? 'sandbox died' : null, time_seconds: 0 },
  }));
  await writeBenchmark(
    path.join(folder, 'arithmetic'),
    {
      ...{ name: 'arithmetic', score: 0.4, stderr: 0.1, ci: [0.2, 0.6], score_completed: 0.5 },
      ...{ num_examples: count, num_completed: count, num_correct: 2, num_errors: 1, num_truncated: 0 },
      ...{ metrics: {}, time_seconds: 1, pass_at_k: {} },
      identity: {
        ...{ benchmarkVersion: 1, dataHash: '', promptHash: '', graderVersion: '', sampling: {} },
        ...{ model: 'everstep/tiny', checkpoint: '' },
      },
    },
    trajectories,
  );
}

/** The answer, checked against what the route promises. */
async function get<Answer>(address: string): Promise<Answer> {
  const reply = await fetch(`${server.url}${address}`);
  const body: unknown = await reply.json();
  expect({ status: reply.status, body }).toMatchObject({ status: 200 });
  expect(schemaOf(address).safeParse(body)).toMatchObject({ success: true });
  return body as Answer;
}

function schemaOf(address: string): z.ZodType {
  const [pathname = ''] = address.split('?', 1);
  const fitting = server.specs.filter(
    ({ method, path: route }) =>
      method === 'GET' && new RegExp(`^${route.replace(/\{\w+\}/g, '[^/]+')}$`).test(pathname),
  );
  const schema = fitting[0]?.answers[200]?.schema;
  if (!schema) throw new Error(`no schema for ${address}`);
  return schema;
}

async function refusal(address: string, init?: RequestInit) {
  const reply = await fetch(`${server.url}${address}`, init);
  return { status: reply.status, ...ErrorBody.parse(await reply.json()).error };
}

test('a run whose state cannot be read is named beside the others', async () => {
  const states = {
    wrong: '{"step":"x"}',
    list: '[]',
    none: 'null',
    five: '{"status":5}',
    digits: JSON.stringify({ ...stateOf('digits'), step: '5' }),
  };
  const folder = (run: string) => path.join(server.store.root, 'runs', run);
  for (const [run, text] of Object.entries(states)) {
    mkdirSync(folder(run));
    writeFileSync(path.join(folder(run), 'state.json'), text);
  }

  const { runs, unreadable } = await get<{
    runs: { run: string }[];
    unreadable: { run: string; file: string; reason: string }[];
  }>('/api/v1/runs');

  expect(runs.map(({ run }) => run)).toEqual(['open', 'done']);
  expect(unreadable.map(({ run }) => run).sort()).toEqual(Object.keys(states).sort());
  for (const { run, file } of unreadable) {
    expect(file).toBe(path.join(folder(run), 'state.json'));
    const { status, message } = await refusal(`/api/v1/runs/${run}`);
    expect({ status, message }).toEqual({ status: 404, message: expect.stringContaining(file) as string });
  }
  for (const run of Object.keys(states)) rmSync(folder(run), { recursive: true });
});

test('steps far apart are no reason to count to them', async () => {
  await writeRun(server.store, 'far');
  const rows = [1, 2, 3, Number.MAX_SAFE_INTEGER].map((step) => JSON.stringify({ step, loss: 1 }));
  writeFileSync(
    path.join(server.store.root, 'runs', 'far', 'metrics.jsonl'),
    `${[...rows, '{"step":1e300}'].join('\n')}\n`,
  );

  const { metrics } = await get<{ metrics: { step: number }[] }>('/api/v1/runs/far/metrics?every=2');

  expect(metrics.map(({ step }) => step)).toEqual([1, 2, Number.MAX_SAFE_INTEGER]);
  rmSync(path.join(server.store.root, 'runs', 'far'), { recursive: true });
});

const MADE: Readonly<Record<string, (file: string) => void>> = {
  pipe: (file) => execFileSync('mkfifo', [file]),
  directory: (file) => {
    mkdirSync(file);
  },
  device: (file) => {
    symlinkSync('/dev/zero', file);
  },
};

test.each(Object.entries(MADE))(
  'a %s in place of a file is refused, and holds up nobody',
  async (what, make) => {
    const folder = path.join(server.store.root, 'runs', what);
    await writeRun(server.store, what, { status: 'completed', closedAt: '2026-01-02T04:00:00.000Z' });
    for (const name of ['metrics', 'scores', 'checkpoints', 'controls', 'events', 'timing'])
      make(path.join(folder, `${name}.jsonl`));

    for (const part of ['metrics', 'scores', 'checkpoints', 'evaluations', 'controls', 'timeline']) {
      const { status, message } = await refusal(`/api/v1/runs/${what}/${part}`);
      expect({ part, status, message }).toEqual({
        ...{ part, status: 409 },
        message: expect.stringMatching(`\\.jsonl is a ${what} where a file belongs`) as string,
      });
    }
    const { run, latestMetrics } = await get<{ run: { run: string }; latestMetrics: unknown }>(
      `/api/v1/runs/${what}`,
    );
    expect([run.run, latestMetrics]).toEqual([what, null]);
    const { runs } = await get<{ runs: { run: string; score: unknown }[] }>('/api/v1/runs');
    expect(runs.find((each) => each.run === what)?.score).toBeNull();

    // Evaluation results: the run is still listed.
    const results = path.join(server.store.root, 'evals', `of-${what}`, 'arithmetic');
    mkdirSync(results, { recursive: true });
    mkdirSync(path.join(results, 'journal'));
    for (const name of ['result.json', 'trajectories.jsonl', 'journal/plan.json'])
      make(path.join(results, name));
    make(path.join(server.store.root, 'evals', `of-${what}`, 'metadata.json'));
    const { evals } = await get<{ evals: { run: string; status: string }[] }>('/api/v1/evals');
    expect(evals.map(({ run: each }) => each)).toContain(`of-${what}`);
    expect(await get<object>(`/api/v1/evals/of-${what}`)).toMatchObject({
      ...{ benchmarks: [], damaged: ['arithmetic'] },
    });
    expect(await refusal(`/api/v1/evals/of-${what}/arithmetic/trajectories`)).toMatchObject({ status: 409 });
    rmSync(path.dirname(results), { recursive: true });
    rmSync(folder, { recursive: true });
  },
);

test.each([
  ['cut', 'result.json', '{"benchmark":"arithmetic","sc'],
  ['of random bytes', 'result.json', '\u0000\u0001\ufffd'],
  ['whose trajectories are torn', 'trajectories.jsonl', '{"example_id":"a'],
])('a result %s is named as damaged', async (_, name, text) => {
  const evals = path.join(server.store.root, 'evals');
  const folder = path.join(evals, 'broken', 'arithmetic');
  cpSync(path.join(evals, 'scored'), path.join(evals, 'broken'), { recursive: true });
  writeFileSync(path.join(folder, name), text);

  const { damaged } = await get<{ damaged: string[] }>('/api/v1/evals/broken');
  const whole = await get<{ damaged: string[] }>('/api/v1/evals/scored');

  expect([damaged, whole.damaged]).toEqual([['arithmetic'], []]);
  rmSync(path.join(evals, 'broken'), { recursive: true });
});

test('lists runs with what filters leave', async () => {
  const all = await get<{ runs: { run: string }[]; temporal: object }>('/api/v1/runs');
  const closed = await get<{ runs: { run: string }[] }>('/api/v1/runs?status=completed&kind=sft');
  const newest = await get<{ runs: { run: string }[]; matchCount: number }>('/api/v1/runs?limit=1');

  expect(all.runs.map(({ run }) => run)).toEqual(['open', 'done']);
  expect(all.temporal).toMatchObject({ isReachable: false });
  expect(closed.runs.map(({ run }) => run)).toEqual(['done']);
  expect(newest).toMatchObject({ runs: [{ run: 'open' }], matchCount: 2 });
});

test('refuses a kind of run that there is not, and names those there are', async () => {
  expect(await refusal('/api/v1/runs?kind=foo')).toMatchObject({
    status: 400,
    param: 'kind',
    message: expect.stringMatching(/sft.*rl/) as string,
  });
});

test('says where a run stands, and that the store alone said so', async () => {
  const answer = await get('/api/v1/runs/open');

  expect(answer).toMatchObject({
    run: { run: 'open', status: 'running', source: 'store' },
    latestMetrics: null,
    best: null,
    temporal: { isReachable: false, note: expect.stringContaining('npx everstep dev') as string },
  });
});

test.each(['scores', 'checkpoints', 'evaluations', 'controls', 'timeline', 'metrics'])(
  'gives the %s of a run as they are described',
  async (what) => {
    const answer = await get<Record<string, unknown[]>>(`/api/v1/runs/done/${what}`);

    expect(answer['run']).toBe('done');
    expect(Array.isArray(answer[what])).toBe(true);
    if (what !== 'controls') expect(answer[what]?.length).toBeGreaterThan(0);
  },
);

test.each(['__proto__', 'constructor', 'toString'])('%s is no metric', async (name) => {
  const { metrics } = await get<{ metrics: object[] }>(`/api/v1/runs/done/metrics?last=1&metrics=${name}`);

  expect(metrics).toEqual([{ step: 30 }]);
});

test('gives a range of metrics, thinned out, and only those that were named', async () => {
  const { metrics } = await get<{ metrics: { step: number }[] }>(
    '/api/v1/runs/done/metrics?from=11&to=30&points=3&metrics=train/nll',
  );

  expect(metrics).toHaveLength(3);
  expect(metrics[0]).toEqual({ step: 11, 'train/nll': 1 / 11 });
  expect(metrics.at(-1)?.step).toBe(30);
});

test('lists eval runs and shows the results of one, also of a run at a step', async () => {
  const { evals } = await get<{ evals: { run: string }[] }>('/api/v1/evals');
  const shown = await get<{ benchmarks: { score: number }[] }>('/api/v1/evals/scored');
  const atStep = await get<{ benchmarks: object[] }>('/api/v1/evals/done@10');

  expect(evals.map(({ run }) => run)).toEqual(['scored']);
  expect(shown.benchmarks).toMatchObject([{ name: 'arithmetic', score: 0.4, num_examples: 5 }]);
  expect(atStep.benchmarks).toHaveLength(1);
});

test('RUN@STEP is also what one eval run gave of that checkpoint, and a step of losses alone says so', async () => {
  const evalOf20 = path.join(server.store.root, 'evals', 'done-20-of');
  await writeEval(evalOf20, 5);
  writeFileSync(path.join(evalOf20, 'metadata.json'), JSON.stringify({ checkpoint_name: 'done@20' }));
  const loss = path.join(server.store.root, 'runs', 'done', 'evals', '30', 'test');
  mkdirSync(path.join(loss, 'journal'), { recursive: true });
  writeFileSync(path.join(loss, 'cell.json'), '{}');
  writeFileSync(path.join(loss, 'journal', 'likelihoods.jsonl'), '');

  expect(await get('/api/v1/evals/done@20')).toMatchObject({
    ...{ benchmarks: [{ num_examples: 5 }], damaged: [], losses: [] },
  });
  expect(await get('/api/v1/evals/done@30')).toMatchObject({ benchmarks: [], losses: ['test'] });
  rmSync(evalOf20, { recursive: true });
});

test('gives trajectories a page at a time, each once, and those that were asked for', async () => {
  interface Page {
    trajectories: { example_id: string }[];
    nextOffset: number | null;
  }
  const base = '/api/v1/evals/scored/arithmetic/trajectories';
  const seen: string[] = [];
  for (let offset: number | null = 0; offset !== null;) {
    const page: Page = await get<Page>(`${base}?limit=2&offset=${offset}`);
    seen.push(...page.trajectories.map(({ example_id }) => example_id));
    offset = page.nextOffset;
  }

  expect(seen).toEqual(['e0', 'e1', 'e2', 'e3', 'e4']);
  const ids = async (query: string) =>
    (await get<Page>(`${base}?${query}`)).trajectories.map((row) => row.example_id);
  expect(await ids('only=errors')).toEqual(['e4']);
  expect(await ids('only=correct')).toEqual(['e1', 'e3']);
  expect(await ids('example=e2')).toEqual(['e2']);
});

test('what a model wrote travels as JSON, which no browser takes for a page', async () => {
  const reply = await fetch(`${server.url}/api/v1/evals/scored/arithmetic/trajectories`);

  expect(reply.headers.get('content-type')).toMatch(/^application\/json/);
  expect(reply.headers.get('x-content-type-options')).toBe('nosniff');
  expect(reply.headers.get('content-security-policy')).toBe("default-src 'none'; frame-ancestors 'none'");
});

test.each([
  ['/api/v1/runs/none', 404],
  ['/api/v1/runs/none/scores', 404],
  ['/api/v1/runs/none/events', 404],
  ['/api/v1/evals/none', 404],
  ['/api/v1/evals/done@99', 404],
  ['/api/v1/evals/scored/none/trajectories', 404],
  ['/api/v1/runs/..%2f..%2fetc', 400],
  ['/api/v1/runs/%2e%2e', 404],
  ['/api/v1/evals/..', 404],
  ['/api/v1/evals/..%2f..', 400],
  ['/api/v1/evals/src', 404],
  ['/api/v1/evals/scored/..%2fsecret/trajectories', 400],
  ['/api/v1/runs?status=wat', 400],
  ['/api/v1/runs?limit=0', 400],
  ['/api/v1/runs?wat=1', 400],
  ['/api/v1/runs/done/metrics?from=x', 400],
  ['/api/v1/runs/done/events?lastEventId=x', 400],
  ['/nothing', 404],
])('refuses %s with %i', async (address, status) => {
  expect(await refusal(address)).toMatchObject({ status });
});

test('a query that is not known is refused with those that are', async () => {
  const { message } = await refusal('/api/v1/runs?wat=1');

  expect(message).toMatch(/"wat".*Known: .*\bstatus\b/);
});

test('a run whose checkpoints cannot be read takes none of the others out of the models', async () => {
  await writeRun(server.store, 'looped', { startedAt: '2026-01-03T00:00:00.000Z' });
  const file = path.join(server.store.runFolder('looped'), 'checkpoints.jsonl');
  symlinkSync(file, file);

  const reply = await fetch(`${server.url}/v1/models`);
  const { status } = await refusal('/api/v1/runs/looped/checkpoints');
  rmSync(server.store.runFolder('looped'), { recursive: true });

  expect(await reply.json()).toMatchObject({ data: [{ id: 'done' }, { id: 'done@10' }] });
  expect(status).toBe(409);
});

test('a model that only a service that is away could know is neither there nor not there', async () => {
  const away = await startServer({
    gateway: {
      engine: {
        defaultUrl: () => 'http://127.0.0.1:9',
        fixedUrl: null,
        tokenizerOf: () => Promise.reject(new Error('no tokenizer here')),
      },
    },
  });
  const reply = await fetch(`${away.url}/v1/models/nonsense`);
  const list = await fetch(`${away.url}/v1/models`);
  await away.close();

  expect(reply.status).toBe(503);
  expect(ErrorBody.parse(await reply.json()).error).toMatchObject({ code: 'unreachable', param: 'model' });
  expect(await list.json()).toEqual({ object: 'list', data: [] });
});

test.each<[string, string, string]>([
  ['GET', '/v1/chat/completions', 'POST'],
  ['DELETE', '/api/v1/runs/done', 'GET'],
  ['POST', '/v1/models/a/b', 'GET'],
  ['POST', '/api/v1/runs/done/metrics?from=1', 'GET'],
])('%s %s is refused with what is taken there', async (method, address, allowed) => {
  const reply = await fetch(server.url + address, { method });

  expect(reply.status).toBe(405);
  expect(reply.headers.get('allow')).toBe(allowed);
  expect(await reply.json()).toMatchObject({
    error: { message: `${method} is not taken at this address, only ${allowed}.` },
  });
});

describe('changes', () => {
  const post = (address: string, body: string) =>
    refusal(address, { method: 'POST', headers: { 'content-type': 'application/json' }, body });

  test.each(['pause', 'resume', 'stop', 'cancel', 'set', 'eval', 'promote', 'budget'])(
    '%s needs the server, and says so when it is away',
    async (change) => {
      const body = { set: { learningRate: { value: 1 } }, promote: { checkpoint: 1 } };

      const answer = await post(
        `/api/v1/runs/open/${change}`,
        JSON.stringify(change in body ? body[change as keyof typeof body] : {}),
      );

      expect(answer).toMatchObject({ status: 503, code: 'temporal-unavailable' });
    },
  );

  test('the client is told when to come back', async () => {
    const init = { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{}' };

    const reply = await fetch(`${server.url}/api/v1/runs/open/stop`, init);

    expect(Number(reply.headers.get('retry-after'))).toBeGreaterThan(0);
  });

  test.each([
    ['{"atStep": "soon"}', 422],
    ['{"wat": 1}', 422],
    ['[]', 422],
    ['{"atStep": NaN}', 400],
    ['', 400],
  ])('%s is refused with %i', async (body, status) => {
    expect(await post('/api/v1/runs/open/stop', body)).toMatchObject({ status });
  });

  test('a link that leaves the store is followed by nobody', async () => {
    mkdirSync(path.join(server.store.root, 'secret'), { recursive: true });
    writeFileSync(path.join(server.store.root, 'secret', 'result.json'), '{"score":1}');

    expect(await refusal('/api/v1/evals/%2e%2e%2fsecret')).toMatchObject({ status: 400 });
  });
});
