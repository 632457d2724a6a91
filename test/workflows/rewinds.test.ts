import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { WorkflowHandle } from '@temporalio/client';
import type { SupervisedConfig } from '../../src/config/supervised-config';
import type { CheckpointRow } from '../../src/core/run';
import type { LocalEngineOptions } from '../../src/engines/local/engine';
import { readJson } from '../../src/stores/whole-file';
import { EngineProcess } from '../contract/engine-process';
import { stepsApplied, stepsAppliedBy } from './harness/applied';
import { EngineRelay } from './harness/engine-relay';
import { Hold, HeldTraining } from './harness/held-training';
import { failureOf, reportOf, TestRuns, until, untilStatus } from './harness/runs';
import { TestStack } from './harness/stack';
import { TestService } from './harness/test-service';

/**
 * What becomes of a run whose model is lost, on each kind of service. Whatever happens, its outcome is that of an
 * undisturbed run, and steps applied = steps of the run + steps it says were trained again.
 */

const STEPS = 24;

let training: HeldTraining;
let stack: TestStack;
let runs: TestRuns;

beforeAll(async () => {
  training = await HeldTraining.create();
  stack = await TestStack.start({ runtime: training });
  runs = new TestRuns(stack);
  await stack.startWorkers();
});

afterAll(async () => {
  training.letAllGo();
  await stack.stop();
});

function serve(name: string, options: Partial<LocalEngineOptions>): Promise<TestService> {
  return TestService.start({ ...options, runtime: training, dataFolder: join(stack.folder, name) });
}

/** A service of the kind, for the tests of the block. */
function onService(name: string, options: Partial<LocalEngineOptions>): () => TestService {
  let service: TestService | null = null;

  beforeAll(async () => {
    service = await serve(name, options);
  });

  afterAll(() => service?.close());

  return () => {
    if (!service) throw new Error(`${name} is not running.`);
    return service;
  };
}

function config(url: string, more: object = {}): SupervisedConfig {
  const { dataset } = runs.config();
  return runs.config({
    ...{ dataset: { ...dataset, testPath: runs.testPath }, steps: STEPS, batchSize: 4 },
    ...{ saveEvery: 4, evalEvery: 6, engine: { url } },
    ...more,
  });
}

const twins = new Map<number, Promise<object>>();

/** What an undisturbed run leaves: on all of these services the same. */
function outcomeOfTwin(given: SupervisedConfig): Promise<object> {
  const key = given.schedules?.length ?? 0;
  const known = twins.get(key) ?? trainTwin(`calm-${key}`, given);
  twins.set(key, known);
  return known;
}

async function trainTwin(run: string, given: SupervisedConfig): Promise<object> {
  const report = await runs.train(run, { ...given, engine: { ...given.engine, url: stack.engine.url } });
  expect(report.finalWeightsDigest).toMatch(/^[0-9a-f]{64}$/);
  return runs.outcome(run);
}

interface Story {
  readonly run: string;
  readonly given: SupervisedConfig;
  /** Where its steps are counted. */
  readonly ledger: string;
}

/** Runs a story to its end, and checks that it ended as its undisturbed twin and says what it cost. */
async function expectSameOutcome(
  { run, given, ledger }: Story,
  disturb: (handle: WorkflowHandle) => Promise<void>,
): Promise<{ readonly rewinds: number; readonly stepsReplayed: number }> {
  const applied = await stepsAppliedBy(ledger, async () => {
    const handle = await runs.start(run, given);
    await disturb(handle);
    await reportOf(handle);
  });

  const state = await stack.store.readState(run);
  if (!state) throw new Error(`${run} has no state`);
  expect(await runs.outcome(run)).toEqual(await outcomeOfTwin(given));
  const steps = (await stack.store.readMetrics(run)).map(({ step }) => step);
  expect(steps).toEqual(Array.from({ length: STEPS }, (_, index) => index + 1));
  expect(applied).toBe(STEPS + state.stepsReplayed);
  return state;
}

/** Waits until the checkpoint of the step is journalled, and returns all of them, the newest first. */
async function checkpointsUntil(run: string, step: number): Promise<CheckpointRow[]> {
  return until(async () => {
    const rows = (await stack.store.readCheckpoints(run)).reverse();
    return (rows[0]?.step ?? -1) >= step ? rows : null;
  });
}

async function deleteAll(service: TestService, rows: readonly CheckpointRow[]): Promise<void> {
  await service.withClient(async (client) => {
    for (const { state_path: path } of rows) if (path !== null) await client.deleteCheckpoint(path);
  });
}

/** Passes on what is asked of an engine; from an update on, its results are held back. */
async function startSilenced(engineUrl: string) {
  const results = new Hold();
  const sent = new Set<string>();
  let lastHeard = Infinity;
  const relay = await EngineRelay.start(engineUrl, async (route, body) => {
    if (route === 'optim_step') sent.add(body.toString());
    if (sent.size >= lastHeard) results.holdAfter(0);
    if (route === 'retrieve_future') await results.pass();
    return null;
  });
  return {
    relay,
    /** Resolves once the last update that is sent before it is silent has been sent. */
    silent: () => until(() => (sent.size >= lastHeard ? sent.size : null)),
    silenceAfter: (count: number) => {
      lastHeard = sent.size + count;
    },
    speak: () => {
      results.letGo();
    },
  };
}

test('an engine killed with -9 costs also the steps that were done and of which nobody has heard', async () => {
  const dataFolder = join(stack.folder, 'killed');
  const engine = await EngineProcess.start({ dataFolder });
  const { relay, ...service } = await startSilenced(engine.url);
  service.silenceAfter(11);

  const story = { run: 'killed', given: config(relay.url), ledger: dataFolder };
  const state = await expectSameOutcome(story, async () => {
    for (const next of [10, Infinity]) {
      const sentCount = await service.silent();
      await until(() => stepsApplied(dataFolder) === sentCount || null);
      await engine.restart();
      service.silenceAfter(next);
      service.speak();
    }
  });

  await engine.kill();
  await relay.close();
  expect(state).toMatchObject({ rewinds: 2, stepsReplayed: 5 });
});

describe('on a service that recognises resent requests and allows one model', () => {
  const service = onService('one-model', { profile: { maxModels: 1 } });

  test('a checkpoint that is damaged, deleted or expired is passed over for the one before it', async () => {
    const { url, dataFolder } = service();
    const hold = training.holdNext(14);

    const story = { run: 'decayed', given: config(url), ledger: dataFolder };
    const state = await expectSameOutcome(story, async () => {
      await hold.held();
      const [newest, second, third] = await checkpointsUntil('decayed', 12);
      writeFileSync(join(service().folderOf(newest?.state_path ?? ''), 'optimizer.safetensors'), 'no such');
      await deleteAll(service(), second ? [second] : []);
      await service().withClient((client) => client.setTtl(third?.state_path ?? '', 60));
      service().passSeconds(61);
      await until(() => !existsSync(service().folderOf(third?.state_path ?? '')) || null);
      await service().restart(hold);
    });

    expect(state).toMatchObject({
      rewinds: 1,
      remarks: [
        expect.stringMatching(/^Evaluator "test" measures what is trained on: 8 of its 8 examples/),
        expect.stringMatching(/was passed over: .*damaged/),
        expect.stringMatching(/was passed over: .*not found/i),
        expect.stringMatching(/was passed over: .*not found/i),
      ],
    });
    expect(state.stepsReplayed).toBeGreaterThanOrEqual(14);
  });

  test('with no checkpoint left it starts again from the base model', async () => {
    const { url, dataFolder } = service();
    const hold = training.holdNext(10);

    const story = { run: 'stripped', given: config(url), ledger: dataFolder };
    const state = await expectSameOutcome(story, async () => {
      await hold.held();
      await deleteAll(service(), await checkpointsUntil('stripped', 8));
      await service().restart(hold);
    });

    expect(state).toMatchObject({ rewinds: 1 });
    expect(state.stepsReplayed).toBeGreaterThanOrEqual(10);
  });

  test('with not even the checkpoint it was started from, it fails and says so', async () => {
    const { url } = service();
    await runs.train('parent', config(url, { steps: 2, saveEvery: 0, evalEvery: 0 }));
    const hold = training.holdNext(5);
    const handle = await runs.start('orphan', config(url, { initialCheckpoint: 'parent@2' }));
    await hold.held();
    await deleteAll(service(), await checkpointsUntil('orphan', 4));
    await deleteAll(service(), await stack.store.readCheckpoints('parent'));
    await service().restart(hold);

    const failure = await failureOf(handle);

    expect(failure).toEqual({
      code: 'checkpoint-missing',
      message: expect.stringMatching(/^initialCheckpoint: tinker:.* Start a new run from/) as string,
    });
    expect(await stack.store.readState('orphan')).toMatchObject({
      status: 'failed',
      reason: failure.message,
    });
  });

  test('a run that finds no room waits, says so, and goes on when there is', async () => {
    const { url } = service();
    await service().withClient(async (client) => {
      const sessionId = await client.createSession();
      const model = { modelSeqId: 0, baseModel: 'everstep/tiny', lora: { rank: 4 } };
      const { modelId } = await client.createModel({ ...model, sessionId });
      const handle = await runs.start('crowded', config(url, { steps: 3, evalEvery: 0 }));

      const { waitingFor } = await untilStatus(handle, ({ status }) => status === 'waiting');
      await client.unloadModel(modelId);

      expect(waitingFor?.what).toContain('Maximum number of models (1) reached');
      expect(await reportOf(handle)).toMatchObject({ status: 'completed', step: 3 });
    });
  });
});

describe('on a service that ends sessions nobody keeps alive', () => {
  const service = onService('forgetting', { sessionTimeoutMs: 1000 });

  test('a session that expired while no worker was there is opened anew', async () => {
    const { url, dataFolder } = service();
    const hold = training.holdNext(10);

    const story = { run: 'away', given: config(url), ledger: dataFolder };
    const state = await expectSameOutcome(story, async () => {
      await hold.held();
      await stack.stopWorkers();
      hold.letGo();
      service().passSeconds(2);
      const modelId = (await stack.modelOf('away')) ?? '';
      await until(async () => !(await stack.isModelLoaded(modelId, url)) || null);
      await stack.startWorkers();
    });

    expect(state).toMatchObject({ rewinds: 1 });
  });
});

describe('on a service that would compute resent requests twice', () => {
  const service = onService('computing-twice', { profile: { deduplicate: false, ordered: false } });

  test('engines that are restarted again and again change nothing of the outcome', async () => {
    const { url, dataFolder } = service();
    const [first, second] = [training.holdNext(9), training.holdNext(6)];

    const story = { run: 'restarted', given: config(url), ledger: dataFolder };
    const state = await expectSameOutcome(story, async () => {
      for (const hold of [first, second]) {
        await hold.held();
        await service().restart(hold);
      }
    });

    expect(state).toMatchObject({ rewinds: 2 });
  });
});

describe('on a service whose results differ from one time to the next', () => {
  const service = onService('differing', { profile: { deterministic: false } });

  test('a rewind begins a new lineage: rows after the checkpoint are cut, finished cells stay as they were', async () => {
    const { url, dataFolder } = service();
    const evaluators = [{ type: 'benchmark', benchmark: 'arithmetic', maxExamples: 4 }];
    // Training waits for them, so that those before the rewind are done.
    const schedules = [{ name: 'evaluators', every: { steps: 6 }, mode: 'blocking', evaluators }];
    const given = config(url, { evalEvery: undefined, schedules });
    const hold = training.holdNext(15);
    let cutAt = '';
    let before: { readonly step: number; readonly at: string }[] = [];

    const state = await expectSameOutcome({ run: 'forked', given, ledger: dataFolder }, async () => {
      await hold.held();
      await checkpointsUntil('forked', 12);
      before = await stack.store.readTiming('forked');
      cutAt = new Date().toISOString();
      await service().restart(hold);
    });

    const timing = await stack.store.readTiming('forked');
    expect(state).toMatchObject({ rewinds: 1, lineage: 1 });
    expect(timing.slice(0, 12)).toEqual(before.slice(0, 12));
    expect(timing.slice(12).every(({ at }) => at > cutAt)).toBe(true);
    const checkpoints = await stack.store.readCheckpoints('forked');
    expect(checkpoints.map(({ step, lineage }) => [step, lineage])).toEqual(
      [0, 4, 8, 12, 16, 20, 24].map((step) => [step, step <= 12 ? 0 : 1]),
    );
    const cells = await Promise.all(
      [6, 12, 18, 24].map((step) =>
        readJson<{ readonly model: { readonly identity: string } }>(
          join(stack.store.cellFolder('forked', step, 'arithmetic'), 'cell.json'),
        ),
      ),
    );
    expect(cells.map((cell) => cell?.model.identity)).toEqual([
      'forked/6/0',
      'forked/12/0',
      'forked/18/1',
      'forked/24/1',
    ]);
  });
});
