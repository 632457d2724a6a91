import { execFile } from 'node:child_process';
import { readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { WorkflowHandle } from '@temporalio/client';
import type { SupervisedConfig } from '../../src/config/supervised-config';
import { HeldRuns } from './harness/held-runs';
import { reportOf, until } from './harness/runs';
import type { TestRuns } from './harness/runs';
import type { TestStack } from './harness/stack';

/** What a person does in Temporal's own tools, done with Temporal's own command on a real server. */

const STEPS = 24;
const DONE = 12;
const execute = promisify(execFile);

let held: HeldRuns;
let stack: TestStack;
let runs: TestRuns;
let twin: object;

beforeAll(async () => {
  held = await HeldRuns.start();
  ({ stack, runs } = held);
  await runs.train('undisturbed', config());
  twin = await runs.outcome('undisturbed');
});

afterEach(() => {
  held.training.letAllGo();
});

afterAll(() => held.close());

function config(more: object = {}): SupervisedConfig {
  const { dataset } = runs.config();
  return runs.config({
    dataset: { ...dataset, testPath: runs.testPath },
    steps: STEPS,
    batchSize: 4,
    saveEvery: 5,
    evalEvery: 4,
    ...more,
  });
}

async function temporal(...words: string[]): Promise<string> {
  const program = process.env['EVERSTEP_TEST_TEMPORAL_BINARY'] ?? '';
  const place = ['--address', stack.address, '--namespace', stack.namespace];
  const { stdout } = await execute(program, [...words, ...place], { timeout: 60_000 });
  return stdout;
}

/** As programs in other languages can, and the command does not: in an encoding of theirs, or with half of a JSON text. */
async function sendUnreadable(run: string, signalName: string, encoding: string): Promise<void> {
  const payload = { metadata: { encoding: Buffer.from(encoding) }, data: Buffer.from('{') };
  await stack.client.workflowService.signalWorkflowExecution({
    namespace: stack.namespace,
    workflowExecution: { workflowId: `train/${run}` },
    ...{ signalName, input: { payloads: [payload] } },
  });
}

/** Whatever executions of it there are: a reset run ends in another one than it began. */
async function ended(run: string): Promise<void> {
  await until(async () => ((await stack.store.readState(run))?.closedAt == null ? null : true));
  await reportOf(stack.client.workflow.getHandle(`train/${run}`));
}

async function firstTask(handle: WorkflowHandle, atMost: number): Promise<string> {
  const { events } = await handle.fetchHistory();
  const ids = (events ?? [])
    .filter(({ workflowTaskCompletedEventAttributes }) => workflowTaskCompletedEventAttributes != null)
    .map(({ eventId }) => Number(eventId));
  return String(ids[Math.min(atMost, ids.length - 1)]);
}

async function expectWhole(run: string): Promise<void> {
  expect(await runs.outcome(run)).toEqual(twin);
  const steps = (await stack.store.readMetrics(run)).map(({ step }) => step);
  expect(steps).toEqual(Array.from({ length: STEPS }, (_, index) => index + 1));
}

test.each([
  ['to its first moment', 0],
  ['to the middle of its preparation', 1],
  ['to a moment before its model was open', 2],
  ['to its last moment', Infinity],
])('a run that is reset %s goes on from its journals', async (_where, task) => {
  const run = `reset-${task}`.toLowerCase();
  const { handle, hold } = await held.start(run, config(), { done: DONE });
  const event = await firstTask(handle, task);

  await temporal('workflow', 'reset', '-w', `train/${run}`, '--event-id', event, '--reason', 'to see');
  hold.letGo();

  await ended(run);
  await expectWhole(run);
});

test('a run that has ended is as it was after a reset', async () => {
  await runs.train('over', config());
  const before = await runs.outcome('over');

  await temporal(
    'workflow',
    'reset',
    '-w',
    'train/over',
    '--type',
    'FirstWorkflowTask',
    '--reason',
    'to see',
  );
  const report = await reportOf(stack.client.workflow.getHandle('train/over'));

  expect(report).toMatchObject({ run: 'over', status: 'completed', step: STEPS });
  expect(await runs.outcome('over')).toEqual(before);
});

test.each(['terminate', 'cancel'])('a run that somebody %ss is gone on with', async (what) => {
  const run = `by-${what}`;
  const { handle, hold } = await held.start(run, config(), { done: DONE });

  await temporal('workflow', what, '-w', `train/${run}`);
  hold.letGo();
  await until(async () => ((await handle.describe()).status.name === 'RUNNING' ? null : true));
  const { isAttached } = await held.everstep.continue(run);

  expect(isAttached).toBe(false);
  await ended(run);
  await expectWhole(run);
  const told = (await held.everstep.run(run).timeline()).filter(({ kind }) =>
    ['ended', 'continued'].includes(kind),
  );
  expect(told.map(({ kind, text }) => `${kind} ${text}`)).toEqual([
    expect.stringMatching(new RegExp(`^ended ${what === 'cancel' ? 'cancelled' : 'terminated'}: .+`)),
    expect.stringMatching(/^continued from (its beginning|the checkpoint of step \d+)/),
    'ended completed',
  ]);
  await expect(held.everstep.continue(run)).rejects.toThrow(/has ended \(completed at step 24 of 24\)/);
});

test('a run whose config.json was edited is not gone on with until it is put back', async () => {
  const run = 'edited';
  const { handle, hold } = await held.start(run, config(), { done: DONE });
  await temporal('workflow', 'terminate', '-w', `train/${run}`);
  hold.letGo();
  await until(async () => ((await handle.describe()).status.name === 'RUNNING' ? null : true));
  const path = join(stack.store.runFolder(run), 'config.json');
  const written = readFileSync(path, 'utf8');
  const { learningRate } = config();
  writeFileSync(
    path,
    written.replace(`"learningRate": ${learningRate}`, `"learningRate": ${10 * learningRate}`),
  );

  const refused = expect.stringContaining(
    `config.json than is there now; it was edited: learningRate ${learningRate} (now: ${10 * learningRate}).`,
  ) as string;
  await expect(held.everstep.continue(run)).rejects.toMatchObject({
    code: 'record-changed',
    message: refused,
  });
  writeFileSync(path, written);
  await held.everstep.continue(run);

  await ended(run);
  await expectWhole(run);
});

test('a run whose plug-in file is away says so when it is gone on with, and measures what needs nothing of it', async () => {
  const run = 'unplugged';
  const plugins = join(stack.folder, 'unplugged.ts');
  writeFileSync(plugins, 'export const graders = { exact: () => 1 };\n');
  const { handle, hold } = await held.start(run, config({ plugins }), { done: DONE });
  await temporal('workflow', 'terminate', '-w', `train/${run}`);
  hold.letGo();
  await until(async () => ((await handle.describe()).status.name === 'RUNNING' ? null : true));
  rmSync(plugins);

  const { remarks } = await held.everstep.continue(run);

  expect(remarks).toEqual([
    `plugins: ${plugins} cannot be read here: it does not exist. What of the run needs it fails until it is back.`,
  ]);
  await ended(run);
  await expectWhole(run);
});

test('runs that the server knows nothing of any more are gone on with, once nobody else writes their files', async () => {
  const names = ['lost-1', 'lost-2', 'lost-3'];
  for (const run of names) {
    const { hold } = await held.start(run, config(), { done: DONE });
    await temporal('workflow', 'delete', '-w', `train/${run}`);
    hold.letGo();
  }
  const lost = () =>
    held.everstep
      .recoverable()
      .then((found) => found.filter(({ run, workflow }) => names.includes(run) && workflow === 'lost'));
  await until(async () => ((await lost()).length === names.length ? true : null));
  const startsAt = new Map<string, number | null>();
  for (const { run, step, checkpointStep } of await lost()) {
    startsAt.set(run, checkpointStep);
    const rows = await stack.store.readMetrics(run);
    expect({ run, step }).toEqual({ run, step: rows.at(-1)?.step ?? 0 });
  }
  await expect(held.everstep.continue('lost-1')).rejects.toThrow(/another server works on it/);

  for (const run of names) {
    const old = new Date(Date.now() - 120_000);
    for (const file of ['state.json', 'metrics.jsonl', 'events.jsonl'])
      utimesSync(join(stack.store.runFolder(run), file), old, old);
    expect(await held.everstep.continue(run)).toMatchObject({ isAttached: false });
  }
  expect(await lost()).toEqual([]);
  for (const run of names) {
    await ended(run);
    await expectWhole(run);
    const events = await stack.store.readEvents(run);
    expect(events.find(({ kind }) => kind === 'continued')?.step).toBe(startsAt.get(run) ?? 0);
  }
});

test('a run under way is attached to, and signals that nobody sends do nothing to it', async () => {
  const { hold } = await held.start('signalled', config(), { done: DONE });
  for (const name of ['evaluationFinished', 'cancelEvaluators', 'unheardOf']) {
    const signal = ['workflow', 'signal', '-w', 'train/signalled', '--name', name];
    await temporal(...signal);
    for (const input of ['null', '7', '"text"', '[]', '{"step":"one","cells":{}}'])
      await temporal(...signal, '--input', input);
    for (const encoding of ['binary/encrypted', 'json/protobuf', 'json/plain'])
      await sendUnreadable('signalled', name, encoding);
  }
  for (const name of ['stop', 'pause', 'resume', 'set', 'setLearningRate', 'setBudget', 'promote']) {
    const update = ['workflow', 'update', 'execute', '-w', 'train/signalled', '--name', name];
    await expect(temporal(...update)).rejects.toThrow();
    for (const input of ['null', '7', '[]', '{"by":1}'])
      await expect(temporal(...update, '--input', input)).rejects.toThrow();
  }

  const { isAttached } = await held.everstep.continue('signalled');
  hold.letGo();

  expect(isAttached).toBe(true);
  await ended('signalled');
  await expectWhole('signalled');
});

test.each(['null', '7', '[]', '{}', '{"run":1}', '{"request":null}'])(
  'a workflow that somebody starts with %s fails, and is not tried for ever',
  async (input) => {
    for (const type of ['trainSupervised', 'trainReinforcement', 'evaluateCheckpoint', 'runBenchmark']) {
      const workflowId = `odd/${type}/${input}`;
      await stack.client.workflow.start(type, {
        workflowId,
        taskQueue: 'everstep',
        args: [JSON.parse(input)],
      });

      const failing = stack.client.workflow.getHandle(workflowId).result();

      await expect(failing).rejects.toMatchObject({
        cause: { type: 'bad-config', message: expect.stringContaining(`starts ${type} with`) as string },
      });
    }
  },
);
