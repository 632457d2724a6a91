import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { listEvals } from '../../../src/client/eval-list';
import { ServerLink } from '../../../src/client/server-link';

const RESULT = { name: 'gsm8k', score: 0.5, num_examples: 2, num_correct: 1, num_errors: 0 };
const LINE = '{"example_id":"a","reward":1,"turns":[]}\n';

let store: string;

beforeEach(() => {
  store = mkdtempSync(join(tmpdir(), 'everstep-eval-list-'));
});

afterEach(() => {
  rmSync(store, { recursive: true });
});

function put(run: string, file: string, content: string): void {
  const path = join(store, 'evals', run, file);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, content);
}

async function statuses(): Promise<Record<string, string>> {
  const runs = await listEvals(new ServerLink(null), store);
  return Object.fromEntries(runs.map(({ run, status }) => [run, status]));
}

test('lists what is damaged or was never finished, and says so', async () => {
  for (const run of ['whole', 'torn', 'short', 'other'])
    put(run, 'gsm8k/result.json', JSON.stringify(RESULT));
  put('whole', 'gsm8k/trajectories.jsonl', LINE + LINE);
  put('torn', 'gsm8k/trajectories.jsonl', LINE + LINE + LINE.slice(0, 20));
  put('short', 'gsm8k/trajectories.jsonl', LINE);
  put('broken', 'gsm8k/result.json', '{"name": "gs');
  put('begun', 'gsm8k/journal/examples.jsonl', '');
  put('measured', 'test/cell.json', JSON.stringify({ scores: [{ key: 'test/nll', value: 1.2, n: 40 }] }));
  put('foreign', 'test/cell.json', '{}');
  mkdirSync(join(store, 'evals', 'empty'), { recursive: true });

  expect(await statuses()).toEqual({
    whole: 'finished',
    torn: 'damaged',
    short: 'damaged',
    other: 'finished',
    broken: 'damaged',
    begun: 'unfinished',
    measured: 'finished',
    foreign: 'damaged',
  });
});
