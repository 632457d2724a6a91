import { createServer } from 'node:http';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { placeWeights, sourceAtHand } from '../../../src/client/eval-engine';
import { findJudges, placeJudges } from '../../../src/client/judge-sources';
import type { RunRecords } from '../../../src/client/run-records';
import { parseBenchmarkConfig } from '../../../src/config/benchmark-config';
import type { EngineSource } from '../../../src/core/benchmark-run';

const CHECKPOINT = 'tinker://ab12-cd:train:0/sampler_weights/final';
const servers: Server[] = [];
let home: string;

beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'everstep-eval-engine-'));
  delete process.env['TEMPORAL_ADDRESS'];
});

afterEach(async () => {
  delete process.env['TEMPORAL_ADDRESS'];
  rmSync(home, { recursive: true, force: true });
  for (const server of servers.splice(0)) await new Promise((resolve) => server.close(resolve));
});

const sourceAt = (url?: string): EngineSource => ({
  ...{ type: 'engine', model: 'everstep/tiny', path: CHECKPOINT, label: 'demo-1@300' },
  ...(url !== undefined && { url }),
});

const here = () => ({ dataFolder: home });

function save(dataFolder: string): void {
  const folder = join(dataFolder, 'engine', 'checkpoints', 'ab12-cd_train_0', 'sampler_weights', 'final');
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'meta.json'), '{}');
}

/** A training service that answers, and has the checkpoint or not. */
async function serve(hasWeights: boolean): Promise<string> {
  const server = createServer((request, response) => {
    response.statusCode = request.url === '/api/v1/weights_info' && !hasWeights ? 404 : 200;
    response.end('{}');
  });
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

async function deadAddress(): Promise<string> {
  const url = await serve(true);
  const server = servers.pop();
  await new Promise((resolve) => server?.close(resolve));
  return url;
}

test('asks the recorded service where it answers', async () => {
  save(home);

  expect(await placeWeights(sourceAt(await serve(true)), here())).toEqual({ at: 'service' });
});

test('takes the engine of the data folder, or of its demo, for one that is gone', async () => {
  const url = await deadAddress();
  save(join(home, 'demo'));
  expect(await placeWeights(sourceAt(url), here())).toEqual({ at: 'folder', dataFolder: join(home, 'demo') });

  save(home);
  expect(await placeWeights(sourceAt(url), here())).toEqual({ at: 'folder', dataFolder: home });
  expect(await sourceAtHand(sourceAt(url), here())).toEqual(sourceAt());
});

test('does not take another engine that has the address by now for the recorded one', async () => {
  save(home);

  expect(await placeWeights(sourceAt(await serve(false)), here())).toEqual({
    at: 'folder',
    dataFolder: home,
  });
});

test('says what is gone and what to do where nobody has the weights', async () => {
  const url = await deadAddress();

  const place = await placeWeights(sourceAt(url), here());

  expect(place).toMatchObject({ at: 'nowhere', problem: { code: 'refused' } });
  if (place.at !== 'nowhere') throw new Error('found');
  expect(place.problem.message).toMatch(
    /^No training service answers at .* It has the weights of demo-1@300\. Start the service .*--engine URL/,
  );
});

test('leaves workers of a configured server to find the weights by themselves', async () => {
  process.env['TEMPORAL_ADDRESS'] = '127.0.0.1:7233';
  save(home);

  expect(await placeWeights(sourceAt(await deadAddress()), here())).toMatchObject({ at: 'nowhere' });
});

test("refuses weights of another data folder's engine to a program", async () => {
  save(join(home, 'demo'));

  await expect(sourceAtHand(sourceAt(await deadAddress()), here())).rejects.toThrow(
    `lie with the engine of ${join(home, 'demo')}. Connect with that data folder`,
  );
});

describe('a judge', () => {
  const RECORDED = 'http://127.0.0.1:9';

  /** Of a run that was trained at an engine that is gone. */
  const recordsAt = (url: string) =>
    ({
      readConfig: () =>
        Promise.resolve({ config: { model: 'everstep/tiny', engine: { url } }, renderer: 'role_colon' }),
      readCheckpoints: () =>
        Promise.resolve([{ step: 300, lineage: 0, name: '000300', sampler_path: CHECKPOINT }]),
    }) as unknown as RunRecords;

  const judged = (more: object = {}) => parseBenchmarkConfig({ judge: { checkpoint: 'demo-1', ...more } });

  test('whose engine is gone is asked at the one that has its weights now', async () => {
    const records = recordsAt(await deadAddress());
    save(home);

    const { judges } = await findJudges(judged(), records, here());

    expect(judges?.[0]?.model).toMatchObject({ type: 'engine', path: CHECKPOINT, label: 'demo-1@300' });
    expect(judges?.[0]?.model).not.toHaveProperty('url');
    expect(await placeJudges(judged(), records, here())).toEqual([{ at: 'folder', dataFolder: home }]);
  });

  test('of another data folder is refused to a program, and found for a command', async () => {
    const records = recordsAt(await deadAddress());
    save(join(home, 'demo'));

    await expect(findJudges(judged(), records, here())).rejects.toThrow(
      `judge: The weights of demo-1@300 lie with the engine of ${join(home, 'demo')}`,
    );
    expect(await placeJudges(judged(), records, here())).toEqual([
      { at: 'folder', dataFolder: join(home, 'demo') },
    ]);
  });

  test('at a service that a person named is asked there', async () => {
    save(home);

    const { judges } = await findJudges(judged({ engine: RECORDED }), recordsAt(RECORDED), here());

    expect(judges?.[0]?.model).toMatchObject({ url: RECORDED });
  });

  test('is told where it stands when nobody asks from here', async () => {
    save(home);

    const { judges } = await findJudges(judged(), recordsAt(RECORDED));

    expect(judges?.[0]?.model).toMatchObject({ url: RECORDED });
  });
});

test('means a service that was named, and no other', async () => {
  save(home);
  const named = { ...here(), isEngineNamed: true };

  expect(await placeWeights(sourceAt(await deadAddress()), named)).toMatchObject({ at: 'nowhere' });
});
