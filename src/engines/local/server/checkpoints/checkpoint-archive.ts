import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import { createGzip } from 'node:zlib';
import { pipeline } from 'node:stream/promises';
import type { Pack } from 'tar-stream';
import { pack } from 'tar-stream';
import { loraScaling } from '../../compute/layout';
import type { LoraConfig } from '../../model-runtime';
import type { CheckpointMeta } from './checkpoint-files';
import { readTensorFile } from './tensor-file';

/** A gzipped tar as other tools load it: PEFT's two files for an adapter, `model.safetensors` for a whole model. */
export function archiveCheckpoint(
  meta: CheckpointMeta,
  weightsFile: string,
  onError: (error: unknown) => void,
): Readable {
  const archive = pack();
  const zipped = createGzip();
  pipeline(archive, zipped).catch(onError);
  fill(archive, meta, weightsFile).catch((error: unknown) => {
    archive.destroy(error instanceof Error ? error : new Error(String(error)));
  });
  return zipped;
}

async function fill(archive: Pack, meta: CheckpointMeta, weightsFile: string): Promise<void> {
  if (meta.lora) {
    const config = await adapterConfig(meta, meta.lora, weightsFile);
    archive.entry({ name: 'adapter_config.json' }, `${JSON.stringify(config, null, 2)}\n`);
  }
  const { size } = await stat(weightsFile);
  const entry = archive.entry({ name: meta.lora ? 'adapter_model.safetensors' : 'model.safetensors', size });
  await pipeline(createReadStream(weightsFile), entry);
  archive.finalize();
}

async function adapterConfig(meta: CheckpointMeta, lora: LoraConfig, weightsFile: string): Promise<object> {
  const names = (await readTensorFile(weightsFile)).map(({ name }) => name);
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
