import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { temporal } from '@temporalio/proto';
import { bundleWorkflowCode, DefaultLogger, Worker } from '@temporalio/worker';

/**
 * Runs that are under way when Everstep is updated go on with the new workflow code. It must decide as the code of
 * their time did, which these recordings hold fast. `scripts/record-histories.ts` makes new ones.
 */
const FOLDER = join(__dirname, '..', 'histories');
const RECORDINGS = readdirSync(FOLDER, { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.json'))
  .sort();

let code: string;

beforeAll(async () => {
  const logger = new DefaultLogger('ERROR');
  const bundle = await bundleWorkflowCode({ workflowsPath: require.resolve('../../src/workflows'), logger });
  code = bundle.code;
}, 120_000);

function replay(text: string): Promise<void> {
  const history = temporal.api.history.v1.History.fromObject(JSON.parse(text) as object);
  return Worker.runReplayHistory({ workflowBundle: { code } }, history);
}

test('there are recordings of both workflows', () => {
  const names = RECORDINGS.map((name) => name.split('/').at(-1));

  expect(names).toEqual(expect.arrayContaining(['train-supervised.json', 'evaluate-checkpoint.json']));
});

test.each(RECORDINGS)('%s is decided now as it was then', async (name) => {
  await replay(readFileSync(join(FOLDER, name), 'utf8'));
});

test('samplers wait for their weights in some recordings of synchronous steps, and in older ones none does', () => {
  const synchronous = RECORDINGS.filter((name) => name.endsWith('/train-reinforcement.json'));

  const waiting = synchronous.map((name) => hasWaitingSamplers(readFileSync(join(FOLDER, name), 'utf8')));

  expect(waiting.sort()).toEqual([false, true]);
});

function hasWaitingSamplers(text: string): boolean {
  const inputs = [...text.matchAll(/"data": ?"([^"]*)"/g)].map(([, data = '']) =>
    Buffer.from(data, 'base64').toString(),
  );
  return inputs.some((input) => input.includes('"awaited":'));
}

test('a workflow that decides otherwise is found out', async () => {
  const text = readFileSync(
    join(FOLDER, RECORDINGS.find((name) => name.endsWith('train-supervised.json')) ?? ''),
    'utf8',
  );

  const other = text.replaceAll('"runSegment"', '"runOtherSegment"');

  await expect(replay(other)).rejects.toThrow(/[Nn]ondeterminism/);
});
