/**
 * Trains `everstep/tiny` on the synthetic corpus and writes it to models/everstep-tiny:
 * `npx jiti scripts/train-tiny.ts [steps]`. The seeds are fixed. It takes about six minutes on two free cores.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { createRandom } from '../src/core/random';
import { createModelRuntime } from '../src/engines/local/compute/create-model-runtime';
import { baseLayout } from '../src/engines/local/compute/layout';
import { parseModelShape } from '../src/engines/local/compute/model-shape';
import { writeSafetensors } from '../src/engines/local/compute/safetensors';
import { toBatch } from './tiny/conversation-tokens';
import { makeCorpus } from './tiny/corpus';
import { allPairs, heldOut } from './tiny/held-out';
import { measureAccuracy } from './tiny/measure-accuracy';
import { tokenizerConfig, tokenizerJson, specialId, VOCAB_SIZE } from './tiny/tokenizer';
import type { NamedTensor, TrainableModel } from '../src/engines/local/model-runtime';

const FOLDER = path.join(__dirname, '../models/everstep-tiny');
const NAME = 'everstep/tiny';
const STEPS = Number(process.argv[2] ?? 6000);
const CONVERSATIONS_PER_STEP = 64;
const PEAK_LEARNING_RATE = 3e-3;
const WARMUP_STEPS = 100;
const SEED = 1;

const CONFIG = {
  architectures: ['LlamaForCausalLM'],
  model_type: 'llama',
  _name_or_path: NAME,
  vocab_size: VOCAB_SIZE,
  hidden_size: 64,
  num_hidden_layers: 3,
  num_attention_heads: 4,
  num_key_value_heads: 4,
  intermediate_size: 176,
  max_position_embeddings: 256,
  rope_theta: 10000,
  rms_norm_eps: 1e-5,
  hidden_act: 'silu',
  tie_word_embeddings: false,
  bos_token_id: specialId('<|bos|>'),
  eos_token_id: [specialId('<|end|>'), specialId('<|eos|>')],
  pad_token_id: specialId('<|pad|>'),
  torch_dtype: 'float32',
};

function writeJson(name: string, value: object): void {
  writeFileSync(path.join(FOLDER, name), `${JSON.stringify(value, null, 2)}\n`);
}

function writeWeights(tensors: readonly NamedTensor[]): void {
  writeFileSync(path.join(FOLDER, 'model.safetensors'), writeSafetensors(tensors, { format: 'pt' }));
}

/** Normal with the variance that keeps activations level; the maps into the residual stream start smaller. */
function initialWeights(): NamedTensor[] {
  const shape = parseModelShape(CONFIG);
  const random = createRandom(SEED);
  const normal = () => Math.sqrt(-2 * Math.log(random() + 1e-12)) * Math.cos(2 * Math.PI * random());
  return [...baseLayout(shape).slots.values()].map(({ name, shape: size, columns }) => {
    const isResidual = name.includes('o_proj') || name.includes('down_proj');
    const deviation = name.includes('embed')
      ? 0.1
      : (isResidual ? (2 * shape.layers) ** -0.5 : 1) / Math.sqrt(columns);
    const count = size.reduce((product, length) => product * length, 1);
    return {
      name,
      shape: size,
      data: Float32Array.from({ length: count }, () => (size.length === 1 ? 1 : deviation * normal())),
    };
  });
}

function learningRateAt(step: number): number {
  const warmup = Math.min(1, (step + 1) / WARMUP_STEPS);
  return PEAK_LEARNING_RATE * warmup * (0.02 + 0.98 * 0.5 * (1 + Math.cos((Math.PI * step) / STEPS)));
}

async function train(
  model: TrainableModel,
  onStep: (step: number, loss: number) => Promise<void>,
): Promise<void> {
  const corpus = makeCorpus(SEED);
  for (let step = 0; step < STEPS; step++) {
    const conversations = Array.from({ length: CONVERSATIONS_PER_STEP }, () => corpus.next().value);
    const passed = model.forwardBackward(
      toBatch(conversations, 0.1),
      { name: 'cross_entropy', config: {} },
      { backward: true },
    );
    await model.optimStep({
      learningRate: learningRateAt(step),
      beta1: 0.9,
      beta2: 0.98,
      eps: 1e-10,
      weightDecay: 0.01,
      gradClipNorm: 1,
    });
    await onStep(step, (await passed).metrics['loss:sum'] ?? NaN);
  }
}

async function main(): Promise<void> {
  mkdirSync(FOLDER, { recursive: true });
  writeJson('config.json', CONFIG);
  writeJson('generation_config.json', {
    eos_token_id: CONFIG.eos_token_id,
    pad_token_id: CONFIG.pad_token_id,
  });
  writeJson('tokenizer.json', tokenizerJson());
  writeJson('tokenizer_config.json', tokenizerConfig(CONFIG.max_position_embeddings));
  writeWeights(initialWeights());

  const runtime = await createModelRuntime({ modelsFolders: [FOLDER] });
  const model = await runtime.createModel({ baseModel: NAME, lora: null });
  const test = allPairs()
    .filter(([a, b]) => heldOut(a, b))
    .slice(0, 600);
  const started = performance.now();
  await train(model, async (step, loss) => {
    if (step % 500 !== 0 && step !== STEPS - 1) return;
    const { weights } = await model.exportState({ optimizer: false });
    const sampler = await runtime.createSampler({ baseModel: NAME, lora: null, weights });
    const inWords = await measureAccuracy(
      sampler,
      test.map(([a, b]) => ({ user: `What is ${a} plus ${b}?`, assistant: String(a + b) })),
    );
    const inSigns = await measureAccuracy(
      sampler,
      test.map(([a, b]) => ({ user: `${a}+${b}=`, assistant: String(a + b) })),
    );
    sampler.dispose();
    const seconds = ((performance.now() - started) / 1000).toFixed(0);
    console.log(
      `step ${step} ${seconds}s loss ${loss.toFixed(3)} held-out in words ${inWords.toFixed(3)}, in signs ${inSigns.toFixed(3)}`,
    );
  });
  writeWeights((await model.exportState({ optimizer: false })).weights);
  await runtime.close();
}

void main();
