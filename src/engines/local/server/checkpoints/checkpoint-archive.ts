import type { Readable } from 'node:stream';
import { createGzip } from 'node:zlib';
import { pipeline } from 'node:stream/promises';
import type { Pack } from 'tar-stream';
import { pack } from 'tar-stream';
import { loraScaling } from '../../compute/layout';
import { readSafetensors } from '../../compute/safetensors';
import type { LoraConfig } from '../../model-runtime';
import type { CheckpointMeta } from './checkpoint-files';

/** A gzipped tar as other tools load it: PEFT's two files for an adapter, `model.safetensors` for a whole model. */
export function archiveCheckpoint(
  meta: CheckpointMeta,
  weights: Uint8Array,
  onError: (error: unknown) => void,
): Readable {
  const archive = pack();
  const zipped = createGzip();
  pipeline(archive, zipped).catch(onError);
  fill(archive, meta, weights);
  return zipped;
}

function fill(archive: Pack, meta: CheckpointMeta, weights: Uint8Array): void {
  if (meta.lora) {
    const config = adapterConfig(meta, meta.lora, weights);
    archive.entry({ name: 'adapter_config.json' }, `${JSON.stringify(config, null, 2)}\n`);
  }
  const name = meta.lora ? 'adapter_model.safetensors' : 'model.safetensors';
  archive.entry({ name }, Buffer.from(weights.buffer, weights.byteOffset, weights.byteLength));
  archive.finalize();
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
