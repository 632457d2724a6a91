import type { Readable } from 'node:stream';
import { createGzip } from 'node:zlib';
import { pipeline } from 'node:stream/promises';
import { pack } from 'tar-stream';
import { loraScaling } from '../../compute/layout';
import { readSafetensors } from '../../compute/safetensors';
import type { LoraConfig } from '../../model-runtime';
import type { CheckpointMeta } from './checkpoint-files';

/** The exported files in a gzipped tar. */
export function archiveCheckpoint(
  meta: CheckpointMeta,
  weights: Uint8Array,
  onError: (error: unknown) => void,
): Readable {
  const archive = pack();
  const zipped = createGzip();
  pipeline(archive, zipped).catch(onError);
  for (const [name, content] of exportedFiles(meta, weights)) archive.entry({ name }, content);
  archive.finalize();
  return zipped;
}

/** Files as other programs load them, by name: PEFT's two for an adapter, `model.safetensors` for a whole model. */
export function exportedFiles(meta: CheckpointMeta, weights: Uint8Array): ReadonlyMap<string, Buffer> {
  const tensors = Buffer.from(weights.buffer, weights.byteOffset, weights.byteLength);
  if (!meta.lora) return new Map([['model.safetensors', tensors]]);
  const config = JSON.stringify(adapterConfig(meta, meta.lora, weights), null, 2);
  return new Map([
    ['adapter_config.json', Buffer.from(`${config}\n`)],
    ['adapter_model.safetensors', tensors],
  ]);
}

function adapterConfig(meta: CheckpointMeta, lora: LoraConfig, weights: Uint8Array): object {
  const names = readSafetensors(weights).map(({ name }) => name);
  const modules = names
    .map((name) => /\.([^.]+)\.lora_[AB]\.weight$/.exec(name)?.[1])
    .filter((name) => name !== undefined);
  return {
    peft_type: 'LORA',
    task_type: 'CAUSAL_LM',
    base_model_name_or_path: meta.baseModel,
    r: lora.rank,
    lora_alpha: Math.round(loraScaling(lora.rank) * lora.rank),
    lora_dropout: 0,
    bias: 'none',
    target_modules: [...new Set(modules)].sort(),
    inference_mode: true,
  };
}
