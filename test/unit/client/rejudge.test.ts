import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseBenchmarkConfig } from '../../../src/config/benchmark-config';
import { findJudges } from '../../../src/client/judge-sources';
import { rejudgeRequests } from '../../../src/client/rejudge';
import { createRunStore } from '../../../src/stores/run-store';
import { IDENTITY } from './some-identity';

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'everstep-rejudge-'));
});

afterEach(() => {
  rmSync(folder, { recursive: true, force: true });
});

const JUDGE = { model: 'judge', endpoint: 'http://127.0.0.1:9/v1' };
/** Judges at an endpoint are asked there, wherever the workers are. */
const HERE = { dataFolder: '/nowhere' };
const records = () => createRunStore(join(folder, 'store'));

function writePlan(benchmark: string, identity: object, more: object = {}): void {
  const journal = join(folder, 'run', benchmark, 'journal');
  mkdirSync(journal, { recursive: true });
  const request = { run: 'run', folder: join(folder, 'run'), benchmark, model: {}, numSamples: 2, ...more };
  writeFileSync(
    join(journal, 'plan.json'),
    JSON.stringify({ benchmark, request, identity: { ...IDENTITY, ...identity } }),
  );
}

describe('judging again', () => {
  test('asks for what is judged as it was asked for, by the new judge, beside the other', async () => {
    writePlan('arena_hard', { judges: [] });
    writePlan('gsm8k', {});

    const requests = await rejudgeRequests({ folder: join(folder, 'run'), judge: JUDGE }, records(), HERE);

    expect(requests).toHaveLength(1);
    expect(requests[0]).toMatchObject({
      benchmark: 'arena_hard',
      numSamples: 2,
      samplesFrom: join(folder, 'run'),
      judges: [{ model: { type: 'endpoint', url: JUDGE.endpoint, model: 'judge' }, temperature: 0 }],
    });
    expect(requests[0]?.folder).toBe(join(folder, requests[0]?.run ?? ''));
    expect(requests[0]?.run).toMatch(/^run-by-judge-[0-9a-f]{8}$/);
  });

  test('refuses code that the plan names and no command did, unless it is named now', async () => {
    const plugins = join(folder, 'strange.js');
    writeFileSync(plugins, '');
    writePlan('theirs', { judges: [] }, { plugins });
    const run = join(folder, 'run');

    await expect(rejudgeRequests({ folder: run, judge: JUDGE }, records(), HERE)).rejects.toMatchObject({
      code: 'refused',
    });
    await expect(
      rejudgeRequests({ folder: run, judge: JUDGE, plugins }, records(), HERE),
    ).resolves.toMatchObject([{ plugins }]);
  });

  test('refuses what a task of its own measures, which would ask the model', async () => {
    writePlan('theirs', { judges: [] }, { inspectTask: { task: 'inspect_evals/gsm8k', args: {} } });
    const again = (benchmarks?: readonly string[]) =>
      rejudgeRequests({ folder: join(folder, 'run'), judge: JUDGE, benchmarks }, records(), HERE);

    await expect(again(['theirs'])).rejects.toThrow(/theirs is measured by its own task/);
    await expect(again()).rejects.toThrow(/no benchmark that was judged by a model/);
  });

  test('another judge gets another folder', async () => {
    writePlan('arena_hard', { judges: [] });
    const runOf = async (judge: object) =>
      (await rejudgeRequests({ folder: join(folder, 'run'), judge }, records(), HERE))[0]?.run;

    expect(await runOf(JUDGE)).toBe(await runOf({ ...JUDGE, concurrency: 2 }));
    expect(await runOf(JUDGE)).not.toBe(await runOf({ ...JUDGE, temperature: 1 }));
  });

  test('is refused where nothing is judged, and over the results themselves', async () => {
    writePlan('gsm8k', {});
    const run = join(folder, 'run');

    await expect(rejudgeRequests({ folder: run, judge: JUDGE }, records(), HERE)).rejects.toThrow(
      /judged by a model/,
    );
    writePlan('arena_hard', { judges: [] });
    await expect(
      rejudgeRequests({ folder: run, judge: JUDGE, output: run }, records(), HERE),
    ).rejects.toThrow(/--output/);
  });
});

describe('judges of a config', () => {
  const find = (judge: unknown, endpoint?: string) =>
    findJudges(parseBenchmarkConfig({ judge, ...(endpoint !== undefined && { endpoint }) }), records(), HERE);

  test('are asked where the model is, unless they say where', async () => {
    const { judges } = await find(['a', JUDGE], 'http://127.0.0.1:7/v1');

    expect(judges?.map(({ model }) => model)).toEqual([
      { type: 'endpoint', url: 'http://127.0.0.1:7/v1', api: 'chat', model: 'a' },
      { type: 'endpoint', url: JUDGE.endpoint, api: 'chat', model: 'judge' },
    ]);
  });

  test('vote as often as they are told, each vote by itself', async () => {
    const { judges } = await find({ ...JUDGE, votes: 3, cache: false });

    expect(judges?.map(({ vote }) => vote)).toEqual([undefined, 1, 2]);
    expect(judges?.every(({ isFresh }) => isFresh)).toBe(true);
  });

  test.each([
    ['judge', /--judge-endpoint/],
    [{ endpoint: 'http://127.0.0.1:9/v1' }, /--model is missing/],
    [{ ...JUDGE, endpoint: 'http://me:secret@host/v1' }, /no user or password/],
    [{ ...JUDGE, temprature: 1 }, /temprature/],
    [[], /judge/],
  ])('%j are refused', async (judge, message) => {
    await expect((async () => find(judge))()).rejects.toThrow(message);
  });
});
