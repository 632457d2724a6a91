/** One side of bench/prepare-rows.ts: loads a tokenizer, encodes the texts of the rows, and prepares the rows as a run does. Prints one line of JSON. */
import { createHash } from 'node:crypto';
import { SupervisedConfig } from '../src/config/supervised-config';
import { loadDataset } from '../src/datasets/load-dataset';
import { findRenderer } from '../src/renderers/find-renderer';
import type { ChatTokenizer } from '../src/renderers/tokenizers/hugging-face-tokenizer';
import { loadTokenizer } from '../src/renderers/tokenizers/load-tokenizer';
import type { PreparedExample } from '../src/training/prepared-data';
import { prepareExamples } from '../src/training/prepare-examples';

async function main([folder = '', file = '', rendererName = 'none']: readonly string[]): Promise<void> {
  const started = performance.now();
  const tokenizer = await loadTokenizer({ folder });
  tokenizer.encode('ready');
  const loaded = performance.now();
  const { rows } = await loadDataset({ path: file });
  const texts = rows.flatMap(({ messages }) =>
    messages.flatMap(({ content }) => (typeof content === 'string' ? [content] : [])),
  );
  const began = performance.now();
  let tokens = 0;
  for (const text of texts) tokens += tokenizer.encode(text, { allowSpecial: true }).length;
  const encoded = performance.now();
  const prepared = rendererName === 'none' ? {} : await prepare(file, { rendererName, tokenizer });
  console.log(JSON.stringify({ loadMs: loaded - started, encodeMs: encoded - began, tokens, ...prepared }));
}

/** Reading, rendering and counting, as `train` does before its first step. */
async function prepare(
  file: string,
  { rendererName, tokenizer }: { readonly rendererName: string; readonly tokenizer: ChatTokenizer },
) {
  const config = SupervisedConfig.parse({
    ...{ kind: 'sft', model: 'any', dataset: { path: file }, steps: 1, renderer: rendererName },
    ...{ trainOnWhat: 'lastAssistantMessage', lossReduction: 'none' },
  });
  const started = performance.now();
  const { rows } = await loadDataset({ path: file });
  const renderer = findRenderer(rendererName, tokenizer);
  const context = { config, tokenizer, renderer, contextLength: null, onProgress: () => undefined };
  const { examples } = await prepareExamples(rows, context);
  return { prepareMs: performance.now() - started, digest: digestOf(examples) };
}

/** Of inputs, targets and weights of every row, in order. */
function digestOf(examples: readonly PreparedExample[]): string {
  const digest = createHash('sha256');
  for (const { datum } of examples) {
    const arrays = [datum.tokens, datum.targetTokens, datum.lossInputs['weights'] ?? new Float32Array()];
    for (const { buffer, byteOffset, byteLength } of arrays)
      digest.update(Buffer.from(buffer, byteOffset, byteLength));
  }
  return digest.digest('hex');
}

void main(process.argv.slice(2));
