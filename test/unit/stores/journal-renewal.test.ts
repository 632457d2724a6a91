import { mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openJournal } from '../../../src/stores/fenced-journal';
import type { Journal } from '../../../src/stores/fenced-journal';
import { createRunStore } from '../../../src/stores/run-store';
import { KeptJournals } from '../../../src/training/step-journals';

const OWNER = { workflowId: 'train/run', firstRunId: 'a' };

interface Row {
  readonly step: number;
}

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'everstep-renewal-'));
});
afterEach(() => {
  rmSync(folder, { recursive: true, force: true });
});

function open(epoch: number): Promise<Journal<Row>> {
  return openJournal<Row>({ path: join(folder, 'rows.jsonl'), epoch, keyOf: ({ step }) => String(step) });
}

function steps(file = join(folder, 'rows.jsonl')): number[] {
  const lines = readFileSync(file, 'utf8').split('\n').filter(Boolean);
  return lines.map((line) => (JSON.parse(line) as Row).step);
}

test('goes on as a later attempt in the same file and shuts out the ones between', async () => {
  const journal = await open(1);
  journal.append({ step: 1 });

  expect(journal.renew(5)).toBe(true);
  journal.append({ step: 2 });

  expect(steps()).toEqual([1, 2]);
  await expect(open(4)).rejects.toMatchObject({ code: 'superseded' });
  expect(readdirSync(folder).sort()).toEqual(['.rows.jsonl.generation-5', 'rows.jsonl', 'rows.jsonl.lease']);
  await journal.close();
});

test('does not renew what another process had in between, nor lose its rows', async () => {
  const kept = await open(1);
  kept.append({ step: 1 });
  const other = await open(2);
  other.append({ step: 2 });

  expect(kept.renew(3)).toBe(false);
  kept.append({ step: 99 });
  const again = await open(3);
  again.append({ step: 3 });

  expect(steps()).toEqual([1, 2, 3]);
  await Promise.all([kept.close(), other.close(), again.close()]);
});

test('shuts out a renewed attempt when a later one takes over', async () => {
  const zombie = await open(1);
  zombie.renew(2);
  const successor = await open(3);
  successor.append({ step: 1 });

  zombie.append({ step: 99 });

  expect(steps()).toEqual([1]);
  expect(() => {
    zombie.verify();
  }).toThrow('later attempt');
  await Promise.all([zombie.close(), successor.close()]);
});

describe('journals kept by a worker', () => {
  const metrics = (): number[] => steps(join(folder, 'runs', 'run', 'metrics.jsonl'));
  const row = (step: number) => ({ step }) as never;

  test('pass from segment to segment, also around one that ran elsewhere', async () => {
    const store = createRunStore(folder);
    await store.claim('run', OWNER);
    const [here, elsewhere] = [new KeptJournals(store, 'run'), new KeptJournals(store, 'run')];
    const write = (kept: KeptJournals, epoch: number) =>
      kept.lend(epoch, async (borrowed) => borrowed.current().metrics.append(row(epoch)));

    await write(here, 1);
    await write(here, 2);
    await write(elsewhere, 3);
    await write(here, 4);

    expect(metrics()).toEqual([1, 2, 3, 4]);
    await Promise.all([here.close(), elsewhere.close()]);
  });

  test('are taken from an attempt of the same worker that was given up', async () => {
    const store = createRunStore(folder);
    await store.claim('run', OWNER);
    const kept = new KeptJournals(store, 'run');

    await kept.lend(1, async (zombie) => {
      await kept.lend(2, async (successor) => successor.current().metrics.append(row(1)));
      expect(() => zombie.current()).toThrow('later attempt');
    });

    expect(metrics()).toEqual([1]);
    await expect(kept.lend(1, async () => undefined)).rejects.toMatchObject({ code: 'superseded' });
    await kept.close();
  });
});
