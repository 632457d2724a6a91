import { execFileSync, spawn } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { Client, Connection } from '@temporalio/client';
import { findFreePort } from '../../src/stack/free-port';
import { HeldEngine } from './harness/held-engine';
import type { Ended } from './harness/program';
import { Command, Place, until } from './harness/program';

/** Releases on a real server: workers come and go, versions are made current by the command that the log names. */
const ROOT = path.resolve(__dirname, '../..');
const NAMESPACE = 'everstep';
/** Whoever polled a namespace is remembered there for minutes. */
const UNVERSIONED = 'plain';
const SMALL = { steps: 40, batchSize: 8, evalEvery: 20, saveEvery: 20 };
const SET_CURRENT = /temporal worker deployment set-current-version [^"]+/;

let place: Place;
let held: HeldEngine;
let address: string;

beforeAll(async () => {
  place = new Place();
  held = await HeldEngine.start(place);
  const port = await findFreePort();
  const server = place.start('temporal', '--port', String(port), '--headless');
  await server.says(/ready at/);
  address = `127.0.0.1:${port}`;
  place.variables = {
    TEMPORAL_ADDRESS: address,
    TEMPORAL_NAMESPACE: NAMESPACE,
    TINKER_BASE_URL: held.url,
    PATH: `${folderWithCli(server.stderr)}:${process.env['PATH'] ?? ''}`,
  };
});

afterEach(() => {
  held.training.letGo();
});

afterAll(async () => {
  await place.remove();
  await held.close();
});

/** The official command line program under the name that commands have, whichever the server came from. */
function folderWithCli(serverLog: string): string {
  const program = /"program":"([^"]+)"/.exec(serverLog)?.[1];
  if (program === undefined) throw new Error(`the server does not say which program it is:\n${serverLog}`);
  const folder = path.join(place.folder, 'bin');
  mkdirSync(folder);
  symlinkSync(program, path.join(folder, 'temporal'));
  return folder;
}

function shell(command: string): string {
  return execFileSync('/bin/sh', ['-c', command], {
    encoding: 'utf8',
    env: { ...process.env, ...place.variables },
  });
}

/** A run that stands after ten steps. */
async function trainHeld(run: string, config: string): Promise<Ended> {
  held.training.holdAfter(10);
  const begun = await place.runHere('train', config, '--run', run, '--detach');
  expect(begun.code).toBe(0);
  return begun;
}

async function startWorker(buildId: string | null): Promise<Command> {
  const version = buildId === null ? [] : ['--deployment', 'everstep', '--build-id', buildId];
  const worker = place.start('worker', ...version);
  await worker.says(/Worker ready/);
  return worker;
}

/** Runs the command that the worker's log names. */
async function makeCurrent(worker: Command): Promise<void> {
  await worker.says(SET_CURRENT);
  shell(SET_CURRENT.exec(worker.stderr)?.[0] ?? '');
}

/** A worker whose workflows decide otherwise than those under way: they ask for an activity by another name. */
function startOtherRelease(buildId: string): Command {
  const folder = path.join(place.folder, 'release');
  for (const name of ['bin', 'dist', 'package.json'])
    cpSync(path.join(ROOT, name), path.join(folder, name), { recursive: true });
  for (const name of ['node_modules', 'models', 'data'])
    symlinkSync(path.join(ROOT, name), path.join(folder, name));
  const bundle = path.join(folder, 'dist/workflow-bundle.js');
  writeFileSync(bundle, readFileSync(bundle, 'utf8').replaceAll('runSegment', 'runOtherSegment'));
  return new Command(
    spawn(
      process.execPath,
      [
        path.join(folder, 'bin/everstep.js'),
        ...['worker', '--deployment', 'everstep', '--build-id', buildId, '--data-dir', place.data],
      ],
      { env: { ...process.env, ...place.variables }, stdio: ['ignore', 'pipe', 'pipe'] },
    ),
  );
}

async function withClient<Value>(use: (client: Client) => Promise<Value>): Promise<Value> {
  const connection = await Connection.connect({ address });
  try {
    return await use(new Client({ connection, namespace: UNVERSIONED }));
  } finally {
    await connection.close();
  }
}

interface Shown {
  readonly status: string;
  readonly finalWeightsDigest: string | null;
}

async function outcomeOf(run: string): Promise<object> {
  const { status, finalWeightsDigest } = await place.ask<Shown>('runs', 'show', run);
  expect(finalWeightsDigest).not.toBeNull();
  return { status, finalWeightsDigest, metrics: place.read(run, 'metrics.jsonl') };
}

function linesWith(worker: Command, text: string): string[] {
  return worker.stderr.split('\n').filter((line) => line.includes(text));
}

function useNamespace(namespace: string): void {
  place.variables = { ...place.variables, TEMPORAL_NAMESPACE: namespace };
}

describe('workers without a version', () => {
  const workers: Command[] = [];

  beforeAll(async () => {
    useNamespace(UNVERSIONED);
    expect((await place.runHere('setup')).code).toBe(0);
  });

  test('a worker without the flags has no version, and works', async () => {
    const worker = await startWorker(null);
    workers.push(worker);

    const config = place.config({ steps: 5, batchSize: 8, evalEvery: 5 });
    expect((await place.runHere('train', config, '--run', 'plain')).code).toBe(0);

    expect(worker.stdout).not.toContain('version');
    await expect(describeDeployments()).resolves.toEqual([]);
  });

  test('a worker that is told to stop hands its segment over in order', async () => {
    workers.push(await startWorker(null));
    await trainHeld('handed', place.config(SMALL));
    await until(() => place.stepsDone('handed') === 10);
    const holder = await holderOf('train/handed', 'runSegment');
    const stopped = workers.find(({ child }) => holder.startsWith(`${child.pid}@`));

    stopped?.child.kill('SIGTERM');
    const code = (await stopped?.ended)?.code;
    const stepsThen = place.stepsDone('handed');
    held.training.letGo();
    expect((await place.runHere('runs', 'watch', 'handed')).code).toBe(0);

    expect(code).toBe(0);
    expect(place.processes().filter(({ pid }) => pid === stopped?.child.pid)).toEqual([]);
    expect(stepsThen).toBe(10);
    const attempts = await attemptsOf('train/handed', 'runSegment');
    expect(attempts.length).toBeGreaterThan(1);
    expect(new Set(attempts)).toEqual(new Set([1]));
  });

  afterAll(async () => {
    for (const { child, ended } of workers) {
      child.kill('SIGKILL');
      await ended;
    }
    useNamespace(NAMESPACE);
  });
});

describe('releases', () => {
  const NOT_CURRENT = 'is not current (no version is): this worker gets no new work';
  let second: Command;

  test('a run outlives the release it began under', async () => {
    const config = place.config(SMALL);
    const first = await startWorker('1');
    await first.says(SET_CURRENT);
    const begun = await trainHeld('released', config);
    const { note } = await place.ask<{ note: string }>('runs', 'show', 'released');
    for (const advice of [begun.stderr, note]) {
      expect(advice).toContain(SET_CURRENT.exec(first.stderr)?.[0]);
      expect(advice).not.toContain('npx everstep worker');
    }

    second = await startWorker('2');
    await second.says(SET_CURRENT);
    expect(place.runFolders()).not.toContain('released');
    await makeCurrent(first);
    await until(() => place.stepsDone('released') === 10);
    await makeCurrent(second);
    first.child.kill('SIGKILL');
    await first.ended;
    held.training.letGo();
    expect((await place.runHere('runs', 'watch', 'released')).code).toBe(0);
    expect((await place.runHere('train', config, '--run', 'undisturbed')).code).toBe(0);

    expect(await outcomeOf('released')).toEqual(await outcomeOf('undisturbed'));
    expect(linesWith(first, NOT_CURRENT)).toHaveLength(1);
    expect(linesWith(second, NOT_CURRENT)).toHaveLength(1);
  });

  test('a release that cannot replay holds a run, and going back frees it', async () => {
    const evaluators = [{ type: 'benchmark', benchmark: 'arithmetic', maxExamples: 4 }];
    const withoutOldForm = { evalEvery: undefined, evaluators: undefined };
    const blocking = { name: 'often', every: { steps: 12 }, mode: 'blocking', evaluators };
    const config = place.config({ ...SMALL, ...withoutOldForm, schedules: [blocking] });
    const bad = startOtherRelease('3');
    await bad.says(SET_CURRENT);
    await trainHeld('held', config);
    await until(() => place.stepsDone('held') === 10);

    await makeCurrent(bad);
    held.training.letGo();
    await bad.says(/Nondeterminism error/);
    await second.says(/is not current \(3 is\)/);
    const stepsHeld = place.stepsDone('held');
    shell(
      'temporal worker deployment set-current-version --yes --deployment-name everstep --build-id 2 ' +
        `--address ${address} --namespace ${NAMESPACE}`,
    );

    expect((await place.runHere('runs', 'watch', 'held')).code).toBe(0);
    // The evaluation that training waits for after twelve steps is its workflow's to start.
    expect(stepsHeld).toBeLessThanOrEqual(12);
    expect(place.stepsDone('held')).toBe(SMALL.steps);
    expect(second.child.exitCode).toBeNull();
  });

  test('a version comes from the environment too, but not to the workers of a stack', async () => {
    place.variables = { ...place.variables, EVERSTEP_DEPLOYMENT: 'everstep', EVERSTEP_BUILD_ID: '9' };

    const own = place.start('worker', '--roles', 'judging');
    const ofStack = place.start('worker', '--roles', 'grading', '--temporal-address', address);

    await own.says(/Worker ready on .*, version 9 of deployment everstep\)/);
    await ofStack.says(/Worker ready on .*, namespace everstep\)/);
  });
});

async function describeDeployments(): Promise<unknown[]> {
  const { workerDeployments } = await withClient(({ workflowService }) =>
    workflowService.listWorkerDeployments({ namespace: UNVERSIONED }),
  );
  return workerDeployments;
}

/** The worker that has an activity of a kind now, as "pid@host". */
async function holderOf(workflowId: string, activity: string): Promise<string> {
  return withClient(async (client) => {
    for (;;) {
      const { raw } = await client.workflow.getHandle(workflowId).describe();
      const pending = raw.pendingActivities?.find(({ activityType }) => activityType?.name === activity);
      if (pending?.lastWorkerIdentity) return pending.lastWorkerIdentity;
    }
  });
}

/** Which attempt of each activity of a kind was the one that counted. */
async function attemptsOf(workflowId: string, activity: string): Promise<number[]> {
  const { events } = await withClient((client) => client.workflow.getHandle(workflowId).fetchHistory());
  const ofActivity = new Set<string>();
  const attempts: number[] = [];
  for (const event of events ?? []) {
    const { activityTaskScheduledEventAttributes: scheduled, activityTaskStartedEventAttributes: started } =
      event;
    if (scheduled?.activityType?.name === activity) ofActivity.add(String(event.eventId));
    if (started && ofActivity.has(String(started.scheduledEventId))) attempts.push(started.attempt ?? 0);
  }
  return attempts;
}
