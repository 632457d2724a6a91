import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { regradeRequests } from '../../../src/client/regrade';

let store: string;

beforeEach(() => {
  store = mkdtempSync(join(tmpdir(), 'everstep-regrade-'));
});

afterEach(() => {
  rmSync(store, { recursive: true });
});

async function runOf(name: string, request: { readonly run: string; readonly folder: string }) {
  const folder = join(store, name);
  const benchmark = 'arithmetic';
  const plan = { benchmark, request, identity: {}, shards: [{}], exampleCount: 1, numSamples: 1 };
  mkdirSync(join(folder, benchmark, 'journal'), { recursive: true });
  writeFileSync(join(folder, benchmark, 'journal', 'plan.json'), JSON.stringify(plan));
  return (await regradeRequests({ folder })).map(({ run }) => run);
}

test('a run is regraded under its name; one that was copied here under that of its folder', async () => {
  expect(await runOf('own', { run: 'mine', folder: join(store, 'own') })).toEqual(['mine']);
  expect(await runOf('copied', { run: 'evil', folder: '/elsewhere/evil' })).toEqual(['copied']);
  expect(await runOf('a copy', { run: 'other', folder: '/elsewhere/other' })).toEqual(['other']);
});
