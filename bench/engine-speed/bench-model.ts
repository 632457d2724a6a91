import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createRandom } from '../../src/core/random';
import { baseLayout } from '../../src/engines/local/compute/layout';
import { parseModelShape } from '../../src/engines/local/compute/model-shape';
import { writeSafetensors } from '../../src/engines/local/compute/safetensors';

export interface BenchShape {
  readonly name: string;
  readonly vocabSize: number;
  readonly width: number;
  readonly layers: number;
  readonly feedForward: number;
}

export const SMALL: BenchShape = {
  name: '2 layers, d=64',
  vocabSize: 128,
  width: 64,
  layers: 2,
  feedForward: 176,
};
export const MEDIUM: BenchShape = {
  name: '4 layers, d=128',
  vocabSize: 512,
  width: 128,
  layers: 4,
  feedForward: 352,
};

const HEADS = 4;
const CONTEXT_LENGTH = 128;

/** An untrained model in a temporary folder that both sides read. */
export class BenchModel {
  /** Under this name the engine knows it. */
  readonly name = 'bench/random';
  readonly root = mkdtempSync(path.join(tmpdir(), 'everstep-bench-'));
  readonly folder = path.join(this.root, 'model');

  constructor(readonly shape: BenchShape) {
    const { vocabSize, width, layers, feedForward } = shape;
    const config = {
      architectures: ['LlamaForCausalLM'],
      _name_or_path: this.name,
      vocab_size: vocabSize,
      hidden_size: width,
      num_hidden_layers: layers,
      num_attention_heads: HEADS,
      num_key_value_heads: HEADS,
      intermediate_size: feedForward,
      max_position_embeddings: CONTEXT_LENGTH,
      rope_theta: 10_000,
      rms_norm_eps: 1e-5,
      tie_word_embeddings: false,
    };
    mkdirSync(this.folder);
    writeFileSync(path.join(this.folder, 'config.json'), JSON.stringify(config));
    writeFileSync(path.join(this.folder, 'model.safetensors'), writeSafetensors(randomWeights(config)));
  }

  remove(): void {
    rmSync(this.root, { recursive: true });
  }
}

function randomWeights(config: Readonly<Record<string, unknown>>): Parameters<typeof writeSafetensors>[0] {
  const random = createRandom(7);
  return [...baseLayout(parseModelShape(config)).slots.values()].map(({ name, shape, rows, columns }) => {
    const bound = Math.sqrt(3 / columns);
    const isVector = shape.length === 1;
    const draw = (): number => (isVector ? 1 : (2 * random() - 1) * bound);
    return { name, shape, data: Float32Array.from({ length: rows * columns }, draw) };
  });
}
