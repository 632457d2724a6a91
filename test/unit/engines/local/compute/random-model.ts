import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createRandom } from '../../../../../src/core/random';
import { baseLayout } from '../../../../../src/engines/local/compute/layout';
import { parseModelShape } from '../../../../../src/engines/local/compute/model-shape';
import { writeSafetensors } from '../../../../../src/engines/local/compute/safetensors';

export const RANDOM_MODEL = 'test/random';
export const VOCAB_SIZE = 40;
export const CONTEXT_LENGTH = 48;

export const CHARACTERS = 'abcdefghijklmnopqrstuvwxyz0123456789+=';

function tokenizerJson(): object {
  const vocab = Object.fromEntries(
    ['<|eos|>', '<unk>', ...CHARACTERS.split('')].map((text, id) => [text, id]),
  );
  return {
    version: '1.0',
    added_tokens: [
      {
        id: 0,
        content: '<|eos|>',
        special: true,
        single_word: false,
        lstrip: false,
        rstrip: false,
        normalized: false,
      },
    ],
    normalizer: null,
    pre_tokenizer: { type: 'Split', pattern: { Regex: '[\\s\\S]' }, behavior: 'Isolated', invert: false },
    post_processor: null,
    decoder: { type: 'Fuse' },
    model: { type: 'WordLevel', vocab, unk_token: '<unk>' },
  };
}

const written: string[] = [];

// The test files that import this own what they write.
afterAll(() => {
  for (const root of written.splice(0)) rmSync(root, { recursive: true, force: true, maxRetries: 3 });
});

/** A folder with an untrained model: grouped heads, weights from a seed. It goes when the test file is done. */
export function writeRandomModel({ tied = false, keyHeads = 1 } = {}): string {
  const root = mkdtempSync(path.join(tmpdir(), 'everstep-compute-'));
  written.push(root);
  const folder = path.join(root, 'random');
  mkdirSync(folder);
  const config = {
    architectures: ['LlamaForCausalLM'],
    _name_or_path: RANDOM_MODEL,
    vocab_size: VOCAB_SIZE,
    hidden_size: 32,
    num_hidden_layers: 2,
    num_attention_heads: 2,
    num_key_value_heads: keyHeads,
    intermediate_size: 48,
    max_position_embeddings: CONTEXT_LENGTH,
    rope_theta: 10000,
    rms_norm_eps: 1e-5,
    tie_word_embeddings: tied,
    eos_token_id: 0,
  };
  const random = createRandom(11);
  const tensors = [...baseLayout(parseModelShape(config)).slots.values()].map(({ name, shape }) => {
    const isVector = shape.length === 1;
    const data = Float32Array.from({ length: shape.reduce((product, size) => product * size, 1) }, () =>
      isVector ? 1 + 0.2 * (random() - 0.5) : (random() - 0.5) * 0.6,
    );
    return { name, shape, data };
  });
  writeFileSync(path.join(folder, 'config.json'), JSON.stringify(config));
  writeFileSync(path.join(folder, 'model.safetensors'), writeSafetensors(tensors));
  writeFileSync(path.join(folder, 'tokenizer.json'), JSON.stringify(tokenizerJson()));
  writeFileSync(
    path.join(folder, 'tokenizer_config.json'),
    JSON.stringify({ tokenizer_class: 'PreTrainedTokenizerFast' }),
  );
  return root;
}
