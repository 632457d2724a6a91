import { SupervisedConfig } from '../../../src/config/supervised-config';
import type { CheckpointRow } from '../../../src/core/run';
import type { ModelIncarnation } from '../../../src/core/training-plan';
import type { TinkerClient } from '../../../src/engines/tinker/client';
import { createTinkerClient } from '../../../src/engines/tinker/client';
import { createEngineAccess } from '../../../src/training/engine-access';
import type { RunRecord } from '../../../src/training/run-folder';
import { snapshotsFromStates } from '../../../src/training/snapshots-from-states';
import type { TestEngine } from '../engines/local/server/engine-driver';
import { forwardBackwardBody, startTestEngine } from '../engines/local/server/engine-driver';
import { BASE_MODEL } from '../engines/local/server/fake-runtime';

let engine: TestEngine;
let client: TinkerClient;

/** One model has room. */
beforeEach(async () => {
  engine = await startTestEngine({ profile: { maxModels: 1 } });
  client = createTinkerClient({ baseUrl: engine.driver.url });
});

afterEach(async () => {
  await client.close();
  await engine.close();
});

interface Saved {
  readonly row: CheckpointRow;
  /** Digest of the weights as the run itself would have measured them. */
  readonly digest: string | null;
}

/** A model that is still there, after two steps that it saved. */
async function train(): Promise<{ readonly model: ModelIncarnation; readonly saved: readonly Saved[] }> {
  const { driver } = engine;
  const sessionId = await driver.openSession();
  const modelId = await driver.createModel(sessionId);
  const saved: Saved[] = [];
  let sequence = 1;
  for (const step of [1, 2]) {
    await driver.post('forward_backward', forwardBackwardBody(modelId, sequence++, 3));
    await driver.retrieve((await driver.step(modelId, sequence++)).body.request_id);
    const save = (kind: string) =>
      driver.finish(kind, { model_id: modelId, seq_id: sequence++, path: `own-${step}` });
    const state = (await save('save_weights')).body.path;
    const sampler = (await save('save_weights_for_sampler')).body.path;
    const row = { name: `own-${step}`, step, state_path: state, sampler_path: null } as CheckpointRow;
    saved.push({ row, digest: await client.weightsDigest(sampler) });
  }
  return { model: { modelId, sessionId } as ModelIncarnation, saved };
}

function make(lost: ModelIncarnation | null, states: readonly CheckpointRow[]) {
  const config = SupervisedConfig.parse({
    ...{ kind: 'sft', model: BASE_MODEL, loraRank: 4, dataset: { path: '/nowhere.jsonl' } },
    engine: { url: engine.driver.url },
  });
  return snapshotsFromStates(
    createEngineAccess({ unreachableAfterMs: 2000 }),
    {
      ...{ record: { config } as RunRecord, lost, states },
      owner: { run: 'mine', workflow: 'first', epoch: 1 },
    },
    { signal: new AbortController().signal, onWaiting: () => undefined },
  );
}

/** What a model saved, and whether it expires where nobody deletes it. */
async function savedBy(modelId: string | undefined): Promise<(string | boolean)[][]> {
  const checkpoints = await client.listCheckpoints(modelId ?? '');
  return checkpoints.map(({ path, expiresAt }) => [path, expiresAt !== null]);
}

test('are the weights that the steps had, one model after the other, in the room of the one that was', async () => {
  const { model, saved } = await train();

  const { paths, models, useless } = await make(
    model,
    saved.map(({ row }) => row),
  );

  expect(useless).toBeNull();
  const digests = await Promise.all([1, 2].map((step) => client.weightsDigest(paths.get(step) ?? '')));
  expect(digests).toEqual(saved.map(({ digest }) => digest));
  expect(digests[0]).not.toBe(digests[1]);
  expect(models).toHaveLength(2);
  expect(await savedBy(models[0])).toEqual([[paths.get(1), true]]);
  const room = await engine.driver.createModel(await engine.driver.openSession());
  expect(room).not.toBe('');
});

test('end at a state that is gone', async () => {
  const { model, saved } = await train();
  const [first, second] = saved.map(({ row }) => row);
  if (!first || !second) throw new Error('nothing was saved');
  await client.deleteCheckpoint(first.state_path ?? '');

  const lacking = await make(model, [first, second]);

  expect(lacking).toMatchObject({ models: [], useless: { row: { step: 1 } } });
  expect(lacking.useless?.reason).toContain(first.state_path);
  expect((await make(null, [second])).paths.size).toBe(1);
});

test('are tried again where the service has no room, and nothing is left of them', async () => {
  const { saved } = await train();

  await expect(
    make(
      null,
      saved.map(({ row }) => row),
    ),
  ).rejects.toMatchObject({ code: 'engine-busy', retryable: true });
  const sessions = await client.listSessions();
  expect(sessions.filter(({ userMetadata }) => userMetadata['run'] === 'mine')).toEqual([]);
});

test('ask the service nothing where there is nothing to make', async () => {
  await engine.close();

  expect(await make(null, [])).toEqual({ paths: new Map(), models: [], useless: null });
});
