import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import type { Strike } from '../../src/engines/local/server/strict/strike';
import { StrictMode } from '../../src/engines/local/server/strict/strict-mode';
import { failureOf, reportOf, TestRuns, untilStatus } from '../workflows/harness/runs';
import { TestStack } from '../workflows/harness/stack';
import { HeldEngine } from './harness/held-engine';
import { Place } from './harness/program';

const KEY = 'tml-key-of-the-first-hour';
const CATALOGUE = [
  'Qwen/Qwen3-8B',
  'Qwen/Qwen3-8B-Base',
  'Qwen/Qwen3-32B',
  'Qwen/Qwen3-30B-A3B',
  'meta-llama/Llama-3.1-8B-Instruct',
  'meta-llama/Llama-3.1-8B',
  'openai/gpt-oss-20b',
  'moonshotai/Kimi-K2-Thinking',
];

/** Every file below a folder that holds the text. */
function filesWith(folder: string, text: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => path.join(entry.parentPath, entry.name))
    .filter((file) => readFileSync(file).includes(text));
}

describe('a run on a strict service', () => {
  let strict: StrictMode;
  let stack: TestStack;
  let runs: TestRuns;
  const refusedLosses: string[] = [];
  let undisturbed: { digest: string | null | undefined; metrics: object[] };

  beforeAll(async () => {
    strict = new StrictMode({
      apiKeys: [KEY],
      retryAfterMs: 50,
      maxChunkDatums: 5,
      announcedAboveBytes: 0,
      alsoOffers: CATALOGUE,
      refusedLosses,
    });
    stack = await TestStack.start({ strict, longPollMs: 200 });
    await stack.startWorkers({ apiKey: KEY });
    runs = new TestRuns(stack);
    const report = await runs.train('undisturbed', runs.config());
    undisturbed = {
      digest: report.finalWeightsDigest,
      metrics: await stack.store.readMetrics('undisturbed'),
    };
  });

  afterAll(() => stack.stop());

  async function disturbed(run: string, strikes: readonly Strike[]): Promise<object> {
    for (const strike of strikes) strict.strike(strike);
    const before = strict.struck.length;
    const report = await runs.train(run, runs.config());
    expect(report).toMatchObject({ status: 'completed', step: 12 });
    expect(strict.struck.length).toBeGreaterThanOrEqual(before + strikes.length);
    expect(report.finalWeightsDigest).toBe(undisturbed.digest);
    expect(await stack.store.readMetrics(run)).toEqual(undisturbed.metrics);
    return (await stack.store.readState(run)) ?? {};
  }

  test('is cut into the chunks the service takes, and ends with the digest of its weights', () => {
    expect(undisturbed.digest).toMatch(/^[0-9a-f]{64}$/);
    expect(undisturbed.metrics).toHaveLength(12);
    expect(strict.seen('forward_backward')).toBe(12 * 4);
    expect(filesWith(stack.folder, KEY)).toEqual([]);
  });

  test.each<[string, readonly Strike[]]>([
    [
      'refusals',
      [
        { trouble: 'rate-limit', route: '*', at: 7, count: 5 },
        { trouble: 'payment', route: 'forward_backward', at: 9, count: 3 },
        { trouble: 'busy', route: 'optim_step', at: 5, count: 2 },
        { trouble: 'token-revoked', route: 'optim_step', at: 9 },
      ],
    ],
    [
      'lost-answers',
      [
        { trouble: 'server-error', route: 'retrieve_future/OptimStep', at: 4 },
        { trouble: 'answer-lost', route: 'optim_step', at: 6, count: 2 },
        { trouble: 'answer-lost', route: 'save_weights', at: 2 },
        { trouble: 'paused', route: 'retrieve_future/ForwardBackward', at: 12, count: 4 },
      ],
    ],
  ])('%s cost time and nothing else', async (run, strikes) => {
    const steps = await stack.stepsApplied();
    const before = strict.struck.length;

    const state = await disturbed(run, strikes);

    const struck = strict.struck.slice(before);
    for (const { trouble, route } of strikes)
      expect(struck).toContainEqual(expect.objectContaining({ trouble, ...(route !== '*' && { route }) }));
    expect(state).toMatchObject({ rewinds: 0, stepsReplayed: 0 });
    expect(await stack.stepsApplied()).toBe(steps + 12);
  });

  test('a promise that is lost costs a rewind to the last checkpoint, and no step is counted twice', async () => {
    const strike: Strike = { trouble: 'promise-lost', route: 'retrieve_future/OptimStep', at: 8 };

    expect(await disturbed('lost', [strike])).toMatchObject({ rewinds: 1, lineage: 1 });
  });

  test.each<[string, Strike, RegExp]>([
    [
      'unpaid',
      { trouble: 'payment', route: 'optim_step', at: 4, forMs: Infinity },
      /^billing: .*\(402\); add credit/,
    ],
    [
      'queued',
      { trouble: 'paused', route: 'retrieve_future/OptimStep', at: 4, forMs: Infinity },
      /all accelerators are taken \(paused_capacity\)/,
    ],
  ])('%s: what it waits for is in its status until it goes on', async (run, strike, what) => {
    strict.strike(strike);
    const handle = await runs.start(run, runs.config());

    const waiting = await untilStatus(handle, ({ status }) => status === 'waiting');

    strict.lift();
    expect(waiting.waitingFor?.what).toMatch(what);
    expect((await reportOf(handle)).finalWeightsDigest).toBe(undisturbed.digest);
    expect(await stack.store.readState(run)).toMatchObject({ rewinds: 0 });
  });

  test('work that the service itself fails ends it with the words of the service', async () => {
    strict.strike({ trouble: 'work-failed', route: 'retrieve_future/ForwardBackward', at: 6 });

    const failure = await failureOf(await runs.start('failed-work', runs.config()));

    expect(failure).toEqual({
      code: 'request-failed',
      message: expect.stringMatching(/^[^\n]*The worker of this request was lost[^\n]*$/) as string,
    });
    expect(await stack.store.readState('failed-work')).toMatchObject({ status: 'failed' });
  });

  test('under a hail of troubles each step counts once', async () => {
    const steps = await stack.stepsApplied();
    const strikes = [1, 2, 4, 7, 10].flatMap((round): Strike[] => [
      { trouble: 'rate-limit', route: 'forward_backward', at: round * 4 },
      { trouble: 'answer-lost', route: 'forward_backward', at: round * 4 + 1 },
      { trouble: 'server-error', route: 'retrieve_future/ForwardBackward', at: round * 4 + 2 },
      { trouble: 'answer-lost', route: 'retrieve_future/OptimStep', at: round },
    ]);

    expect(await disturbed('hailstorm', strikes)).toMatchObject({ rewinds: 0 });
    expect(await stack.stepsApplied()).toBe(steps + 12);
  });

  test('a loss that the service refuses ends it with its words, and nothing is trained', async () => {
    const steps = await stack.stepsApplied();
    refusedLosses.push('cross_entropy');
    try {
      const failure = await failureOf(await runs.start('refused', runs.config()));

      expect(failure).toEqual({
        code: 'request-failed',
        message: expect.stringMatching(/^[^\n]*"cross_entropy" is not offered[^\n]*$/) as string,
      });
      expect(await stack.stepsApplied()).toBe(steps);
    } finally {
      refusedLosses.length = 0;
    }
  });

  describe('ends with one line and a remedy before anything is trained', () => {
    test.each<[string, object, Strike | null, string, RegExp]>([
      ['stranger', { model: 'Qwen/Qwen3-8b' }, null, 'unknown-model', /Near that name: Qwen\/Qwen3-8B, Qwen/],
      [
        'misfit',
        { model: 'Qwen/Qwen3-8B', renderer: 'llama3' },
        null,
        'bad-config',
        /does not fit.*Use qwen3,/,
      ],
      [
        'bankrupt-asking',
        {},
        { trouble: 'payment', route: 'get_server_capabilities', at: 1 },
        'payment-required',
        /402.*Add credit/,
      ],
      [
        'bankrupt-opening',
        {},
        { trouble: 'payment', route: 'create_model', at: 1, forMs: Infinity },
        'payment-required',
        /402.*Add credit/,
      ],
    ])('%s', async (run, more, strike, code, message) => {
      const steps = await stack.stepsApplied();
      if (strike) strict.strike(strike);

      const failure = await failureOf(await runs.start(run, runs.config(more)));
      strict.lift();

      expect(failure).toEqual({ code, message: expect.stringMatching(message) as string });
      expect(failure.message).not.toContain('\n');
      expect(await stack.stepsApplied()).toBe(steps);
    });
  });
});

describe('everstep train', () => {
  let place: Place;
  let engine: HeldEngine;
  const strict = new StrictMode({ apiKeys: [KEY], retryAfterMs: 100, alsoOffers: CATALOGUE });
  const unpaid: Strike = { trouble: 'payment', route: 'get_server_capabilities', at: 1, forMs: Infinity };

  beforeAll(async () => {
    place = new Place();
    engine = await HeldEngine.start(place, strict);
  });

  afterEach(() => {
    strict.lift();
  });

  afterAll(async () => {
    await place.remove();
    await engine.close();
  });

  function setVariables(variables: Readonly<Record<string, string | null>> = {}): void {
    const all: Record<string, string | null> = {
      TINKER_API_KEY: KEY,
      TINKER_BASE_URL: engine.url,
      ...variables,
    };
    place.variables = Object.fromEntries(
      Object.entries(all).flatMap(([name, value]) => (value === null ? [] : [[name, value] as const])),
    );
  }

  test('tells engine and prices, trains, and stores the key nowhere', async () => {
    setVariables();
    const prices = { 'everstep/tiny': { training: 2, sampling: 4 } };
    const sizes = { steps: 5, batchSize: 8, maxLength: 100, saveEvery: 0, evalEvery: 5 };
    const config = place.config({ ...sizes, engine: { prices } });

    const { code, stdout, stderr } = await place.run('train', config, '--run', 'first');

    const said = stdout + stderr;
    expect(said).toMatch(
      new RegExp(
        `Engine: ${engine.url} \\(the Tinker service\\), by TINKER_BASE_URL\\.\\n` +
          'Prices: training \\$2\\.00, sampling \\$4\\.00 per million tokens of everstep/tiny [^\\n]*\\n' +
          'Training costs at most \\$0\\.01: 5 steps of 8 examples of up to 100 tokens',
      ),
    );
    expect(said.indexOf('Engine:')).toBeLessThan(said.indexOf('Run first is accepted'));
    expect(code).toBe(0);
    expect(place.stepsDone('first')).toBe(5);
    expect(said).not.toContain(KEY);
    expect(filesWith(place.folder, KEY)).toEqual([]);
  });

  test.each<[string, Readonly<Record<string, string | null>>, object, readonly string[], RegExp]>([
    ['no key', { TINKER_API_KEY: null }, {}, [], /needs a key\. Set TINKER_API_KEY/],
    ['a wrong key', { TINKER_API_KEY: 'tml-not-this-one' }, {}, [], /refused the API key .*TINKER_API_KEY/],
    [
      'a model that is not offered',
      {},
      { model: 'Qwen/Qwen3-8b' },
      [],
      /not offered.*Near that name: Qwen\/Qwen3-8B/,
    ],
    ['a renderer that does not fit', {}, { model: 'Qwen/Qwen3-8B', renderer: 'llama3' }, [], /does not fit/],
    [
      'a key in the address',
      { TINKER_BASE_URL: 'https://tml-secret@host.example' },
      {},
      [],
      /TINKER_BASE_URL: .*holds a key/,
    ],
    [
      'a key in the flag',
      {},
      {},
      ['--engine', 'https://host.example/?k=tml-secret'],
      /--engine: .*holds a key/,
    ],
    [
      'an address where nobody is',
      { TINKER_BASE_URL: 'http://127.0.0.1:9' },
      {},
      [],
      /no training service answers at/,
    ],
    [
      'the official service without a key',
      { TINKER_API_KEY: null },
      {},
      ['--engine', 'tinker'],
      /needs a key/,
    ],
    [
      'a key of another service',
      { TINKER_API_KEY: 'sk-abcdefghijklmn' },
      {},
      ['--engine', 'tinker'],
      /begin with "tml-"/,
    ],
  ])('%s is one line, before anything is started', async (_, variables, more, flags, message) => {
    setVariables(variables);
    const runsBefore = place.runFolders();
    const sessionsBefore = strict.seen('create_session');

    const { code, stdout, stderr } = await place.runHere('train', place.config(more), ...flags);

    expect(code).not.toBe(0);
    expect(stderr.trim()).toMatch(message);
    expect(stderr.trim()).not.toContain('\n');
    expect(stdout + stderr).not.toMatch(/tml-secret|tml-not-this|tml-key|sk-abc/);
    expect(strict.seen('create_session')).toBe(sessionsBefore);
    expect(place.runFolders()).toEqual(runsBefore);
  });

  test('an account without money is one line', async () => {
    setVariables();
    strict.strike(unpaid);

    const { code, stderr } = await place.runHere('train', place.config());

    expect(code).toBe(1);
    expect(stderr.trim()).toMatch(/^[^\n]*asks for payment \(402\)[^\n]*Add credit[^\n]*$/);
  });

  test.each<[string, Readonly<Record<string, string | null>>, Strike | null, RegExp]>([
    ['works', {}, null, /^ok +engine +http.*the key works; models: everstep\/tiny/m],
    [
      'is wrong',
      { TINKER_API_KEY: 'tml-not-this-one' },
      null,
      /^MISSING +engine .*refuses the key\n +→ Correct TINKER_API_KEY/m,
    ],
    [
      'is not there',
      { TINKER_API_KEY: null },
      null,
      /^MISSING +engine .*asks for a key\n +→ Set TINKER_API_KEY/m,
    ],
    ['has no money behind it', {}, unpaid, /^MISSING +engine .*\(402\).*\n +→ Add credit/m],
  ])('doctor says in one line whether the key %s', async (_, variables, strike, expected) => {
    setVariables(variables);
    if (strike) strict.strike(strike);

    const { stdout } = await place.runHere('doctor', '--only', 'engine');

    expect(stdout).toMatch(expected);
    expect(stdout).not.toMatch(/tml-/);
  });
});
