/** Many clients on one engine at once: samplers, trainers, and one who behaves badly. Sizes are the caller's. */
import { connect } from 'node:net';
import { EngineDriver } from '../unit/engines/local/server/engine-driver';

export interface LoadSizes {
  readonly baseModel: string;
  readonly samplerCount: number;
  readonly drawsPerSampler: number;
  readonly trainerCount: number;
  readonly stepsPerTrainer: number;
  readonly maxTokens: number;
  readonly batchSize: number;
  readonly promptLength: number;
  /** Requests that one client sends without ever collecting. */
  readonly floodCount: number;
}

export interface LoadReport {
  readonly seconds: number;
  readonly tokens: number;
  /** Of each client, the seconds in which it finished. */
  readonly samplerSeconds: readonly number[];
  readonly trainerSeconds: readonly number[];
  /** Steps of the slowest trainer for each of the fastest, when the fastest had finished. */
  readonly slowestShare: number;
  /** Draws finished before the first trainer was. */
  readonly drawsWhileTraining: number;
  readonly losses: readonly (readonly number[])[];
  readonly refusedFloods: number;
}

interface Progress {
  readonly steps: number[];
  slowestShare: number;
  drawCount: number;
  drawsWhileTraining: number;
  tokens: number;
}

export async function loadEngine(url: string, sizes: LoadSizes): Promise<LoadReport> {
  const startedAt = performance.now();
  const seconds = (): number => (performance.now() - startedAt) / 1000;
  const progress: Progress = {
    steps: Array.from({ length: sizes.trainerCount }, () => 0),
    slowestShare: 1,
    drawCount: 0,
    drawsWhileTraining: -1,
    tokens: 0,
  };
  const flood = floodEngine(url, sizes);
  const samplers = Array.from({ length: sizes.samplerCount }, async (_, index) => {
    await drawMany(url, sizes, { index, progress });
    return seconds();
  });
  const losses: number[][] = [];
  const trainers = Array.from({ length: sizes.trainerCount }, async (_, index) => {
    losses[index] = await trainMany(url, sizes, { index, progress });
    if (progress.drawsWhileTraining < 0) {
      progress.drawsWhileTraining = progress.drawCount;
      progress.slowestShare = Math.min(...progress.steps) / sizes.stepsPerTrainer;
    }
    return seconds();
  });
  const samplerSeconds = await Promise.all(samplers);
  const trainerSeconds = await Promise.all(trainers);
  return {
    seconds: seconds(),
    tokens: progress.tokens,
    samplerSeconds,
    trainerSeconds,
    slowestShare: progress.slowestShare,
    drawsWhileTraining: progress.drawsWhileTraining,
    losses,
    refusedFloods: await flood,
  };
}

interface Client {
  readonly index: number;
  readonly progress: Progress;
}

async function drawMany(url: string, sizes: LoadSizes, { index, progress }: Client): Promise<void> {
  const driver = new EngineDriver(url);
  const sampler = await openSampler(driver, sizes);
  for (let draw = 0; draw < sizes.drawsPerSampler; draw++) {
    const { body } = await driver.post(
      'asample',
      asample(sampler, sizes, { seqId: draw, seed: index * 1000 + draw }),
    );
    const result = await collect(driver, body.request_id);
    const drawn = result['sequences'];
    if (!Array.isArray(drawn)) throw new Error(`A draw failed: ${JSON.stringify(result).slice(0, 300)}`);
    progress.drawCount++;
    progress.tokens += sizes.maxTokens;
  }
}

async function trainMany(url: string, sizes: LoadSizes, { index, progress }: Client): Promise<number[]> {
  const driver = new EngineDriver(url);
  const { body: created } = await driver.post('create_model', {
    session_id: await driver.openSession(),
    base_model: sizes.baseModel,
    lora_config: { rank: 4, seed: 3 },
  });
  await collect(driver, created.request_id);
  const losses: number[] = [];
  for (let step = 0; step < sizes.stepsPerTrainer; step++) {
    const { body: asked } = await driver.post(
      'forward_backward',
      batch(created.model_id, sizes, { step, index }),
    );
    const { body: stepped } = await driver.step(created.model_id, 2 * step + 2, 0.01);
    const { metrics } = await collect(driver, asked.request_id);
    const loss: unknown =
      typeof metrics === 'object' && metrics !== null && 'loss:sum' in metrics ? metrics['loss:sum'] : null;
    losses.push(Number(loss));
    await collect(driver, stepped.request_id);
    progress.steps[index] = step + 1;
  }
  return losses;
}

/** Asks for more than can be drawn and never collects, and hangs up in the middle of requests. */
async function floodEngine(url: string, sizes: LoadSizes): Promise<number> {
  const driver = new EngineDriver(url);
  const sampler = await openSampler(driver, sizes);
  const { hostname, port } = new URL(url);
  let refusedCount = 0;
  for (let sent = 0; sent < sizes.floodCount; sent++) {
    const { status } = await driver.post(
      'asample',
      asample(sampler, sizes, { seqId: sent, seed: sent, samples: 16 }),
    );
    if (status === 429) refusedCount++;
    if (sent % 20 > 0) continue;
    const socket = connect({ host: hostname, port: Number(port) }, () => {
      socket.write(
        'POST /api/v1/asample HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 99\r\n\r\n{"a',
      );
      setImmediate(() => socket.destroy());
    });
    socket.on('error', () => null);
  }
  return refusedCount;
}

async function openSampler(driver: EngineDriver, { baseModel }: LoadSizes): Promise<string> {
  const session_id = await driver.openSession();
  const { body } = await driver.post('create_sampling_session', { session_id, base_model: baseModel });
  return body.sampling_session_id;
}

interface Draw {
  readonly seqId: number;
  readonly seed: number;
  readonly samples?: number;
}

function asample(sampler: string, sizes: LoadSizes, { seqId, seed, samples = 1 }: Draw): object {
  return {
    sampling_session_id: sampler,
    seq_id: seqId,
    num_samples: samples,
    prompt: { chunks: [{ type: 'encoded_text', tokens: tokensFrom(seed, sizes.promptLength) }] },
    // Without a stop, each draws as much as every other.
    sampling_params: { max_tokens: sizes.maxTokens, temperature: 1, seed, stop: [] },
  };
}

function batch(
  modelId: string,
  sizes: LoadSizes,
  { step }: { readonly step: number; readonly index: number },
): object {
  const data = Array.from({ length: sizes.batchSize }, (_, row) => {
    const tokens = tokensFrom(step * 31 + row, sizes.promptLength + sizes.maxTokens);
    return {
      model_input: { chunks: [{ type: 'encoded_text', tokens }] },
      loss_fn_inputs: {
        target_tokens: { data: tokens, dtype: 'int64', shape: [tokens.length] },
        weights: { data: tokens.map(() => 1), dtype: 'float32', shape: [tokens.length] },
      },
    };
  });
  return {
    model_id: modelId,
    seq_id: 2 * step + 1,
    forward_backward_input: { data, loss_fn: 'cross_entropy' },
  };
}

function tokensFrom(seed: number, length: number): number[] {
  return Array.from({ length }, (_, index) => 2 + ((seed * 7 + index * 3) % 30));
}

async function collect(driver: EngineDriver, requestId: string): Promise<Readonly<Record<string, unknown>>> {
  for (;;) {
    const reply = await driver.retrieve(requestId);
    if (reply.status === 200) return { ...reply.body };
    if (reply.status !== 408)
      throw new Error(`Collecting was answered ${reply.status}: ${reply.body.detail}`);
  }
}
