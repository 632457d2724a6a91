import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { addresseesOf, lookForPrograms } from '../../../src/client/check-endpoint';
import { Everstep } from '../../../src/client/everstep';
import { ownIdentity } from '../../../src/stack/process-identity';
import { writeStackRecord } from '../../../src/stack/stack-record';
import { createRunStore } from '../../../src/stores/run-store';
import { stateOf } from '../server/serving';
import { FakeServer } from './fake-server';

const NOBODY = 'http://127.0.0.1:1/v1';
const REFUSED = {
  code: 'refused',
  message: expect.stringContaining('cannot be reached (connect ECONNREFUSED') as string,
};
let folder: string;
let everstep: Everstep;

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'everstep-look-'));
  writeStackRecord(folder, {
    ...ownIdentity(),
    ...{ ready: true, kind: 'dev', temporalAddress: '127.0.0.1:1', namespace: 'everstep', uiUrl: null },
    ...{ engineUrl: 'http://127.0.0.1:2', store: folder, children: [] },
  });
  everstep = await Everstep.connect({ dataFolder: folder, store: folder });
});

afterEach(async () => {
  await everstep.close();
  rmSync(folder, { recursive: true, force: true });
});

async function keepCheckpoint(): Promise<void> {
  const records = createRunStore(folder);
  mkdirSync(join(folder, 'runs', 'one'), { recursive: true });
  await records.writeState('one', stateOf('one', { status: 'completed' }));
  const config = { model: 'everstep/tiny', engine: { tags: [] } };
  await records.writeConfig('one', { run: 'one', config, engineUrl: 'http://127.0.0.1:2', evaluators: {} });
  const row = { name: 's', step: 1, batch: 1, lineage: 0, state_path: null, sampler_path: 'tinker://a/b' };
  writeFileSync(join(folder, 'runs', 'one', 'checkpoints.jsonl'), `${JSON.stringify(row)}\n`);
}

test('a program is refused an endpoint where nobody listens before anything is started', async () => {
  await expect(everstep.evaluate('arithmetic', { model: 'm', endpoint: NOBODY })).rejects.toMatchObject({
    ...REFUSED,
    message: expect.stringMatching(
      /cannot be reached .* Nothing was started: try again when it answers\.$/,
    ) as string,
  });
});

test('a program is refused a schedule of an endpoint where nobody listens', async () => {
  const options = { benchmarks: 'arithmetic', every: '1h', model: 'm', endpoint: NOBODY };

  await expect(everstep.schedules.create('watch', options)).rejects.toMatchObject({
    ...REFUSED,
    message: expect.stringContaining('No schedule was made') as string,
  });
});

test('a program is refused a judge where nobody listens, for evaluations and for backfills', async () => {
  await keepCheckpoint();
  const judge = `j@${NOBODY}`;

  await expect(everstep.evaluate('arena_hard', { checkpoint: 'one@1', judge })).rejects.toMatchObject(
    REFUSED,
  );
  await expect(everstep.backfill({ runs: ['one'], benchmarks: ['arena_hard'], judge })).rejects.toMatchObject(
    REFUSED,
  );
});

test('what workers of a configured server reach is not refused', async () => {
  const look = lookForPrograms(new FakeServer().link, () => false);
  const addressees = addresseesOf({ endpoint: NOBODY, model: 'm' });

  await expect(look({ addressees, isBegun: () => Promise.resolve(false) })).resolves.toBeUndefined();
});

test('who has looked by itself asks no endpoint again', async () => {
  let asked = 0;
  const endpoint = createServer((_, answer) => {
    asked++;
    answer.setHeader('content-type', 'application/json').end('{"data":[{"id":"other"}]}');
  });
  await new Promise<void>((resolve) => endpoint.listen(0, '127.0.0.1', resolve));
  const { port } = endpoint.address() as AddressInfo;
  const options = { model: 'm', endpoint: `http://127.0.0.1:${port}/v1` };
  const connection = { address: '127.0.0.1:1', store: folder, dataFolder: join(folder, 'elsewhere') };
  const looking = await Everstep.connect(connection);
  const blind = await Everstep.connect({ ...connection, looksAtEndpoints: false });

  try {
    await expect(looking.evaluate('arithmetic', options)).rejects.toThrow('does not serve "m"');
    expect(asked).toBe(1);
    await expect(blind.evaluate('arithmetic', options)).rejects.toMatchObject({
      code: 'temporal-unavailable',
    });
    expect(asked).toBe(1);
  } finally {
    await Promise.all([looking.close(), blind.close()]);
    endpoint.closeAllConnections();
    endpoint.close();
  }
});
