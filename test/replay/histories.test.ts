import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { temporal } from '@temporalio/proto';
import { Worker } from '@temporalio/worker';

/**
 * Runs that are under way when Everstep is updated go on with the new workflow code. It must decide as the code of
 * their time did, which these recordings hold fast. `scripts/record-histories.ts` makes new ones.
 */
const FOLDER = join(__dirname, '..', 'histories');
const RECORDINGS = readdirSync(FOLDER, { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.json'))
  .sort();

/** Of these sources, which the run's global setup has built. */
const WORKFLOW_BUNDLE = { codePath: resolve(__dirname, '../../dist/workflow-bundle.js') };

const OTHERWISE = 'decided otherwise';
/** What each history came to in one worker, which replays them all; null where nothing was wrong. */
let outcomes: ReadonlyMap<string, Error | null>;

beforeAll(async () => {
  const [supervised = ''] = RECORDINGS.filter((name) => name.endsWith('train-supervised.json'));
  const other = textOf(supervised).replaceAll('"runSegment"', '"runOtherSegment"');
  const texts = [...RECORDINGS.map((name) => [name, textOf(name)] as const), [OTHERWISE, other] as const];
  const histories = texts.map(([, text]) => {
    const history = historyOf(text);
    return { workflowId: idIn(history), history };
  });
  const found: (Error | null)[] = [];
  for await (const { error } of Worker.runReplayHistories({ workflowBundle: WORKFLOW_BUNDLE }, histories))
    found.push(error ?? null);
  outcomes = new Map(texts.map(([name], index) => [name, found[index] ?? null]));
});

function textOf(name: string): string {
  return readFileSync(join(FOLDER, name), 'utf8');
}

function historyOf(text: string): temporal.api.history.v1.History {
  return temporal.api.history.v1.History.fromObject(JSON.parse(text) as object);
}

/** What a run is called by its workflow's id, and takes nothing from another. */
function idIn({ events }: temporal.api.history.v1.History): string {
  return events[0]?.workflowExecutionStartedEventAttributes?.workflowId ?? '';
}

test('there are recordings of both workflows', () => {
  const names = RECORDINGS.map((name) => name.split('/').at(-1));

  expect(names).toEqual(expect.arrayContaining(['train-supervised.json', 'evaluate-checkpoint.json']));
});

test.each(RECORDINGS)('%s is decided now as it was then', (name) => {
  expect(outcomes.get(name)).toBeNull();
});

test('samplers wait for their weights in some recordings of synchronous steps, and in older ones none does', () => {
  const synchronous = RECORDINGS.filter((name) => name.endsWith('/train-reinforcement.json'));

  const waiting = synchronous.map((name) => hasWaitingSamplers(textOf(name)));

  expect(waiting.sort()).toEqual([false, true]);
});

function hasWaitingSamplers(text: string): boolean {
  const inputs = [...text.matchAll(/"data": ?"([^"]*)"/g)].map(([, data = '']) =>
    Buffer.from(data, 'base64').toString(),
  );
  return inputs.some((input) => input.includes('"awaited":'));
}

test('a workflow that decides otherwise is found out', () => {
  expect(outcomes.get(OTHERWISE)?.message).toMatch(/[Nn]ondeterminism/);
});
