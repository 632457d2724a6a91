import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import type { WorkflowHandle } from '@temporalio/client';
import type { SupervisedConfig } from '../../src/config/supervised-config';
import type { CheckpointRow } from '../../src/core/run';
import type { LocalEngineOptions } from '../../src/engines/local/engine';
import { createTinkerClient } from '../../src/engines/tinker/client';
import { readJson } from '../../src/stores/whole-file';
import { EngineProcess } from '../contract/engine-process';
import { stepsAppliedBy } from './harness/applied';
import { failureOf, reportOf, TestRuns, until, untilStatus } from './harness/runs';
import { TestStack } from './harness/stack';

/**
 * What becomes of a run whose model is lost, on each kind of service. Whatever happens, its outcome is that of an
 * undisturbed run, and steps applied = steps of the run + steps it says were trained again.
 */

const STEPS = 60;
const LIMIT_MS = 120_000;

let stack: TestStack;
let runs: TestRuns;
let engineFolder: string;

function onStack(options: Partial<LocalEngineOptions>): void {
  beforeAll(async () => {
    stack = await TestStack.start(options);
    runs = new TestRuns(stack);
    engineFolder = join(stack.folder, 'engine');
    await stack.startWorkers();
  }, LIMIT_MS);

  afterAll(() => stack.stop(), LIMIT_MS);
}

/** Steps that take long enough to be interrupted. */
function config(more: object = {}): SupervisedConfig {
  return runs.config({ steps: STEPS, batchSize: 64, saveEvery: 10, ...more });
}

/** Waits until this many steps are journalled. */
async function untilStep(run: string, step: number): Promise<void> {
  await until(async () => ((await stack.store.readLastMetrics(run))?.step ?? 0) >= step || null);
}

const twins = new Map<string, object>();

/** What an undisturbed run leaves: on all of these engines the same, whenever it saves. */
async function outcomeOfTwin(given: SupervisedConfig): Promise<object> {
  const { steps, evalEvery, schedules } = given;
  const key = `calm-${String(steps)}-${evalEvery}-${schedules?.length ?? 0}`;
  const known = twins.get(key);
  if (known) return known;
  const report = await runs.train(key, given);
  expect(report.finalWeightsDigest).toMatch(/^[0-9a-f]{64}$/);
  const outcome = await runs.outcome(key);
  twins.set(key, outcome);
  return outcome;
}

interface Story {
  readonly run: string;
  readonly given: SupervisedConfig;
  /** Where its steps are counted, if not by the stack's engine. */
  readonly ledger?: string;
}

/** Runs a story to its end, and checks that it ended as its undisturbed twin and says what it cost. */
async function expectSameOutcome(
  { run, given, ledger = engineFolder }: Story,
  disturb: (handle: WorkflowHandle) => Promise<void>,
): Promise<{ readonly rewinds: number; readonly stepsReplayed: number }> {
  const undisturbed = await outcomeOfTwin(given);
  const applied = await stepsAppliedBy(ledger, async () => {
    const handle = await runs.start(run, given);
    await disturb(handle);
    await reportOf(handle);
  });

  const state = await stack.store.readState(run);
  if (!state) throw new Error(`${run} has no state`);
  expect(await runs.outcome(run)).toEqual(undisturbed);
  const steps = (await stack.store.readMetrics(run)).map(({ step }) => step);
  expect(steps).toEqual(Array.from({ length: given.steps ?? 0 }, (_, index) => index + 1));
  expect(applied).toBe((given.steps ?? 0) + state.stepsReplayed);
  return state;
}

async function withClient(
  use: (client: ReturnType<typeof createTinkerClient>) => Promise<void>,
): Promise<void> {
  const client = createTinkerClient({ baseUrl: stack.engine.url });
  try {
    await use(client);
  } finally {
    await client.close();
  }
}

/** Overwrites a saved state with something else. */
function damage(row: CheckpointRow | undefined): void {
  const [, modelId = '', kind = '', name = ''] =
    /^tinker:\/\/([^/]+)\/([^/]+)\/(.+)$/.exec(row?.state_path ?? '') ?? [];
  const folder = join(engineFolder, 'checkpoints', modelId.replaceAll(':', '_'), kind, name);
  writeFileSync(join(folder, 'optimizer.safetensors'), 'not what was saved');
}

async function deleteAll(rows: readonly CheckpointRow[]): Promise<void> {
  await withClient(async (client) => {
    for (const { state_path: path } of rows) if (path !== null) await client.deleteCheckpoint(path);
  });
}

describe('on a service that recognises resent requests and allows one model', () => {
  onStack({ profile: { maxModels: 1 } });

  test(
    'an engine killed with -9 again and again costs what it is said to cost',
    async () => {
      const dataFolder = mkdtempSync(join(tmpdir(), 'everstep-killed-'));
      const engine = await EngineProcess.start({ dataFolder });
      const given = config({ engine: { url: engine.url } });

      const state = await expectSameOutcome({ run: 'killed', given, ledger: dataFolder }, async () => {
        for (const step of [14, 27, 41]) {
          await untilStep('killed', step);
          await engine.restart();
        }
      });

      await engine.kill();
      rmSync(dataFolder, { recursive: true, force: true });
      expect(state.rewinds).toBe(3);
      expect(state.stepsReplayed).toBeGreaterThan(0);
    },
    LIMIT_MS,
  );

  test(
    'a checkpoint that is damaged, deleted or expired is passed over for the one before it',
    async () => {
      const given = config({ saveEvery: 5 });

      const state = await expectSameOutcome({ run: 'decayed', given }, async () => {
        await untilStep('decayed', 26);
        await stack.stopWorkers();
        const [newest, second, third] = (await stack.store.readCheckpoints('decayed')).reverse();
        damage(newest);
        await deleteAll(second ? [second] : []);
        await withClient((client) => client.setTtl(third?.state_path ?? '', 1));
        await new Promise((resolve) => setTimeout(resolve, 1100));
        await stack.restartEngine();
        await stack.startWorkers();
      });

      expect(state).toMatchObject({ rewinds: 1 });
      expect(state).toMatchObject({
        remarks: [
          expect.stringMatching(/was passed over: .*damaged/),
          expect.stringMatching(/was passed over: .*not found/i),
          expect.stringMatching(/was passed over: .*not found/i),
        ],
      });
      expect(state.stepsReplayed).toBeGreaterThanOrEqual(15);
    },
    LIMIT_MS,
  );

  test(
    'with no checkpoint left it starts again from the base model',
    async () => {
      const state = await expectSameOutcome({ run: 'stripped', given: config() }, async () => {
        await untilStep('stripped', 22);
        await stack.stopWorkers();
        await deleteAll(await stack.store.readCheckpoints('stripped'));
        await stack.restartEngine();
        await stack.startWorkers();
      });

      expect(state).toMatchObject({ rewinds: 1 });
      expect(state.stepsReplayed).toBeGreaterThanOrEqual(22);
    },
    LIMIT_MS,
  );

  test(
    'with not even the checkpoint it was started from, it fails and says so',
    async () => {
      await runs.train('parent', runs.config({ steps: 2, saveEvery: 0 }));
      const handle = await runs.start('orphan', config({ initialCheckpoint: 'parent@2' }));
      await untilStep('orphan', 5);
      await stack.stopWorkers();
      await deleteAll(await stack.store.readCheckpoints('orphan'));
      await deleteAll(await stack.store.readCheckpoints('parent'));
      await stack.restartEngine();
      await stack.startWorkers();

      const failure = await failureOf(handle);

      expect(failure).toEqual({
        code: 'checkpoint-missing',
        message: expect.stringMatching(/^initialCheckpoint: tinker:.* Start a new run from/) as string,
      });
      expect(await stack.store.readState('orphan')).toMatchObject({
        status: 'failed',
        reason: failure.message,
      });
    },
    LIMIT_MS,
  );

  test(
    'a run that finds no room waits, says so, and goes on when there is',
    async () => {
      await withClient(async (client) => {
        const sessionId = await client.createSession();
        const model = { modelSeqId: 0, baseModel: 'everstep/tiny', lora: { rank: 4 } };
        const { modelId } = await client.createModel({ ...model, sessionId });
        const handle = await runs.start('crowded', runs.config({ steps: 3 }));

        const { waitingFor } = await untilStatus(handle, ({ status }) => status === 'waiting');
        await client.unloadModel(modelId);

        expect(waitingFor?.what).toContain('Maximum number of models (1) reached');
        expect(await reportOf(handle)).toMatchObject({ status: 'completed', step: 3 });
      });
    },
    LIMIT_MS,
  );
});

describe('on a service that ends sessions nobody keeps alive', () => {
  onStack({ sessionTimeoutMs: 15_000 });

  test(
    'a session that expired while no worker was there is opened anew',
    async () => {
      const state = await expectSameOutcome({ run: 'away', given: config() }, async () => {
        await untilStep('away', 15);
        await stack.stopWorkers();
        const modelId = (await stack.modelOf('away')) ?? '';
        await until(async () => !(await stack.isModelLoaded(modelId)) || null);
        await stack.startWorkers();
      });

      expect(state.rewinds).toBeGreaterThanOrEqual(1);
    },
    LIMIT_MS,
  );
});

describe('on a service that would compute resent requests twice', () => {
  onStack({ profile: { deduplicate: false, ordered: false } });

  test(
    'engines that are restarted again and again change nothing of the outcome',
    async () => {
      const state = await expectSameOutcome({ run: 'restarted', given: config() }, async () => {
        for (const step of [12, 26, 44]) {
          await untilStep('restarted', step);
          await stack.restartEngine();
        }
      });

      expect(state).toMatchObject({ rewinds: 3 });
    },
    LIMIT_MS,
  );

  test(
    'a worker that is killed in the middle of a segment makes the run rewind',
    async () => {
      const given = config({ steps: 150 });
      const state = await expectSameOutcome({ run: 'widowed', given }, async (handle) => {
        await stack.stopWorkers();
        const worker = startWorkerProcess();
        await untilStep('widowed', 5);
        await until(async () => (await isSegmentUnderWay(handle)) || null);
        await worker.kill();
        await stack.startWorkers();
      });

      expect(state).toMatchObject({ rewinds: 1 });
    },
    LIMIT_MS,
  );

  /** For less than a second, so that it will not have ended by itself when the worker is killed. */
  async function isSegmentUnderWay(handle: WorkflowHandle): Promise<boolean> {
    const { raw } = await handle.describe();
    return (raw.pendingActivities ?? []).some(
      ({ activityType, lastStartedTime }) =>
        activityType?.name === 'runSegment' &&
        Date.now() - 1000 * Number(lastStartedTime?.seconds ?? 0) < 1500,
    );
  }

  function startWorkerProcess(): { kill(): Promise<void> } {
    const places = ['--data-dir', stack.folder, '--store', join(stack.folder, 'store')];
    const child = spawn(
      process.execPath,
      [resolve(__dirname, '../../bin/everstep.js'), 'worker', '--engine', stack.engine.url, ...places],
      {
        stdio: 'ignore',
        env: {
          ...process.env,
          EVERSTEP_NO_BUILD: '1',
          TEMPORAL_ADDRESS: process.env['EVERSTEP_TEST_TEMPORAL_ADDRESS'],
          TEMPORAL_NAMESPACE: stack.namespace,
        },
      },
    );
    const ended = new Promise<void>((done) => {
      child.once('exit', () => {
        done();
      });
    });
    return {
      kill: async () => {
        child.kill('SIGKILL');
        await ended;
      },
    };
  }
});

describe('on a service whose results differ from one time to the next', () => {
  onStack({ profile: { deterministic: false } });

  test(
    'a rewind begins a new lineage: rows after the checkpoint are cut, finished cells stay as they were',
    async () => {
      const given = config({
        // Training waits for them, so that those before the rewind are done however busy the machine is.
        schedules: [
          {
            name: 'evaluators',
            every: { steps: 6 },
            mode: 'blocking',
            evaluators: [{ type: 'benchmark', benchmark: 'arithmetic', maxExamples: 4 }],
          },
        ],
      });
      let cutAt = '';
      let before: { readonly step: number; readonly at: string }[] = [];
      const state = await expectSameOutcome({ run: 'forked', given }, async () => {
        await untilStep('forked', 27);
        await stack.stopWorkers();
        before = await stack.store.readTiming('forked');
        cutAt = new Date().toISOString();
        await stack.restartEngine();
        await stack.startWorkers();
      });

      const base = Math.floor((before.at(-1)?.step ?? 0) / 10) * 10;
      const timing = await stack.store.readTiming('forked');
      expect(state).toMatchObject({ rewinds: 1, lineage: 1 });
      expect(timing.slice(0, base)).toEqual(before.slice(0, base));
      expect(timing.slice(base).every(({ at }) => at > cutAt)).toBe(true);
      const lineages = (await stack.store.readCheckpoints('forked')).map(({ step, lineage }) => [
        step,
        lineage,
      ]);
      expect(lineages).toEqual([0, 10, 20, 30, 40, 50, 60].map((step) => [step, step <= base ? 0 : 1]));
      const cells = await Promise.all(
        [6, 24, 42, 60].map((step) =>
          readJson<{ readonly model: { readonly identity: string } }>(
            join(stack.store.cellFolder('forked', step, 'arithmetic'), 'cell.json'),
          ),
        ),
      );
      expect(cells.map((cell) => cell?.model.identity)).toEqual([
        'forked/6/0',
        'forked/24/0',
        'forked/42/1',
        'forked/60/1',
      ]);
    },
    LIMIT_MS,
  );
});
