/**
 * Measures what supervised fine-tuning on data/arithmetic makes of everstep/tiny:
 * `npx jiti scripts/measure-sft.ts <rank, or full> <learning rate> [batch size] [steps] [schedule] [seeds]`.
 */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { shuffledIndices } from '../src/core/random';
import { createModelRuntime } from '../src/engines/local/compute/create-model-runtime';
import { toBatch } from './tiny/conversation-tokens';
import { measureAccuracy } from './tiny/measure-accuracy';
import type { LoraConfig, ModelRuntime } from '../src/engines/local/model-runtime';
import type { Exchange } from './tiny/corpus';

const MODEL = 'everstep/tiny';
const [
  rank = 'full',
  learningRate = '1e-3',
  batchSize = '128',
  steps = '300',
  schedule = 'linear',
  seeds = '1,2,3',
] = process.argv.slice(2);

interface Settings {
  readonly rank: string;
  readonly learningRate: number;
  readonly batchSize: number;
  readonly steps: number;
  readonly schedule: string;
  readonly seed: number;
}

function readExchanges(name: string): Exchange[] {
  const file = path.join(__dirname, '../data/arithmetic', name);
  return readFileSync(file, 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => {
      const { messages } = JSON.parse(line) as { messages: [{ content: string }, { content: string }] };
      return { user: messages[0].content, assistant: messages[1].content };
    });
}

const TRAIN = readExchanges('train.jsonl');
const TEST = readExchanges('test.jsonl');

async function fineTune(runtime: ModelRuntime, settings: Settings): Promise<void> {
  const { seed, steps: stepCount } = settings;
  const lora: LoraConfig | null =
    settings.rank === 'full'
      ? null
      : { rank: Number(settings.rank), seed, trainAttn: true, trainMlp: true, trainUnembed: true };
  const model = await runtime.createModel({ baseModel: MODEL, lora });
  const order = shuffledIndices(TRAIN.length, seed);
  const accuracies: string[] = [];
  let trainSeconds = 0;
  const evaluate = async (): Promise<void> => {
    const { weights } = await model.exportState({ optimizer: false });
    const sampler = await runtime.createSampler({ baseModel: MODEL, lora, weights });
    accuracies.push((await measureAccuracy(sampler, TEST)).toFixed(3));
    sampler.dispose();
  };
  await evaluate();
  for (let step = 0; step < stepCount; step++) {
    const started = performance.now();
    const chosen = Array.from(
      { length: settings.batchSize },
      (_, index) =>
        TRAIN[order[(step * settings.batchSize + index) % TRAIN.length] ?? 0] ?? { user: '', assistant: '' },
    );
    const conversations = chosen.map((exchange) => ({ system: null, exchanges: [exchange] }));
    void model.forwardBackward(
      toBatch(conversations, 0),
      { name: 'cross_entropy', config: {} },
      { backward: true },
    );
    const decay = settings.schedule === 'linear' ? 1 - step / stepCount : 1;
    await model.optimStep({
      learningRate: settings.learningRate * decay,
      beta1: 0.9,
      beta2: 0.95,
      eps: 1e-12,
      weightDecay: 0,
      gradClipNorm: 0,
    });
    trainSeconds += (performance.now() - started) / 1000;
    if ((step + 1) % 100 === 0 || step + 1 === stepCount) await evaluate();
  }
  model.dispose();
  console.log(
    `${JSON.stringify(settings)} held-out accuracy ${accuracies.join(' → ')}, training ${trainSeconds.toFixed(1)}s`,
  );
}

async function main(): Promise<void> {
  const runtime = await createModelRuntime();
  for (const seed of seeds.split(',').map(Number)) {
    await fineTune(runtime, {
      rank,
      learningRate: Number(learningRate),
      batchSize: Number(batchSize),
      steps: Number(steps),
      schedule,
      seed,
    });
  }
  await runtime.close();
}

void main();
