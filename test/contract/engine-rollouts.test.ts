import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import pino from 'pino';
import { NO_LIMITS } from '../../src/core/reinforcement/limits';
import { policyDatums } from '../../src/core/reinforcement/rollout-datums';
import type { LocalEngine } from '../../src/engines/local/engine';
import { startLocalEngine } from '../../src/engines/local/engine';
import { createModelRuntime } from '../../src/engines/local/compute/create-model-runtime';
import type { ModelRuntime } from '../../src/engines/local/model-runtime';
import type { TinkerClient } from '../../src/engines/tinker/client';
import { createTinkerClient } from '../../src/engines/tinker/client';
import type { TinkerSampler } from '../../src/engines/tinker/sampler';
import { findRenderer } from '../../src/renderers/find-renderer';
import { loadTokenizer } from '../../src/renderers/tokenizers/load-tokenizer';
import { arithmeticEnvironments } from '../../src/training/environments/arithmetic';
import { computeLogprobs } from '../../src/training/rollouts/compute-logprobs';
import { groupFromText, groupText } from '../../src/training/rollouts/rollout-rows';
import type { RolloutSite } from '../../src/training/rollouts/rollout-site';
import { sampleGroup } from '../../src/training/rollouts/sample-group';
import { createSampleSeeds } from '../../src/training/rollouts/sample-seeds';

const MODEL = 'everstep/tiny';
const { signal } = new AbortController();
const sums = arithmeticEnvironments({ digits: 2, formatPenalty: 0.1 });

let runtime: ModelRuntime;
let engine: LocalEngine;
let client: TinkerClient;
let dataFolder: string;
let sampler: TinkerSampler;
let site: RolloutSite;

beforeAll(async () => {
  runtime = await createModelRuntime({ threads: 1 });
  dataFolder = mkdtempSync(path.join(tmpdir(), 'everstep-rollouts-'));
  engine = await startLocalEngine({ port: 0, dataFolder, runtime, logger: pino({ level: 'silent' }) });
  client = createTinkerClient({ baseUrl: engine.url, retryDelayMs: 10 });
  const tokenizer = await loadTokenizer({ folder: path.resolve(__dirname, '../../models/everstep-tiny') });
  sampler = client.createSampler({ baseModel: MODEL });
  site = {
    sampler,
    renderer: findRenderer('everstep', tokenizer),
    contextLength: 128,
    limits: { ...NO_LIMITS, maxTurnTokens: 8 },
    strategy: { type: 'fail-fast' },
    temperature: 1,
    now: () => performance.now(),
  };
});

afterAll(async () => {
  await sampler.close();
  await client.close();
  await engine.close();
  await runtime.close();
  rmSync(dataFolder, { recursive: true, force: true });
});

function sample(groupNumber: number) {
  const task = {
    group: sums.groupAt(groupNumber),
    groupSize: 8,
    seeds: createSampleSeeds(5, groupNumber),
    policyVersion: 0,
  };
  return sampleGroup(site, task, { signal });
}

test('the engine draws a group again bit by bit, alone or among others', async () => {
  const alone = await sample(0);

  const among = await Promise.all([3, 2, 1, 0].map(sample));

  expect(among[3]).toEqual(alone);
  const drawn = among.map(
    ({ conversations }) => new Set(conversations.map((each) => JSON.stringify(each))).size,
  );
  expect(Math.max(...drawn)).toBeGreaterThan(1);
  expect(groupFromText(groupText({ step: 0, group: 0 }, alone), { step: 0, group: 0 })).toEqual(alone);
});

test('scoring what was drawn gives what sampling gave, and the engine trains on it', async () => {
  const group = await sample(1);

  const scored = await computeLogprobs(site.sampler, group, { signal });

  const [drawn, again] = [group, scored].map(({ rollouts }) =>
    rollouts.flatMap(({ transitions }) => transitions.flatMap(({ logprobs }) => logprobs)),
  );
  expect(again).toHaveLength(drawn?.length ?? -1);
  again?.forEach((logprob, index) => {
    expect(logprob).toBeCloseTo(drawn?.[index] ?? 1, 3);
  });
  const sessionId = await client.createSession({ tags: [] });
  const lora = { rank: 4, seed: 1 };
  const { modelId } = await client.createModel({ sessionId, modelSeqId: 0, baseModel: MODEL, lora });
  const data = policyDatums([group], [group.rollouts.map((_, index) => (index % 2 === 0 ? 1 : -1))]).map(
    ({ datum }) => datum,
  );
  const submitted = await client.submitForwardBackward({
    modelId,
    seqId: 1,
    data,
    lossFn: 'importance_sampling',
  });
  const { logprobs } = await client.collectForwardBackward(submitted);
  expect(logprobs).toHaveLength(data.length);
});
