import type { Readable } from 'node:stream';
import { createGzip } from 'node:zlib';
import { pipeline } from 'node:stream/promises';
import type { Pack } from 'tar-stream';
import { pack } from 'tar-stream';
import { loraScaling } from '../../compute/layout';
import { readSafetensors } from '../../compute/safetensors';
import type { LoraConfig } from '../../model-runtime';
import type { EncryptedFile } from './age-files';
import { encryptFile } from './age-files';
import type { CheckpointMeta } from './checkpoint-files';

/** A file as it is handed out. */
type ExportedFile = EncryptedFile | { readonly content: Buffer; readonly size: number };

/** The exported files in a gzipped tar. */
export function archiveCheckpoint(
  meta: CheckpointMeta,
  weights: Uint8Array,
  onError: (error: unknown) => void,
): Readable {
  const archive = pack();
  const zipped = createGzip();
  pipeline(archive, zipped).catch(onError);
  addFiles(archive, meta, weights).catch((error: unknown) => {
    archive.destroy(error instanceof Error ? error : new Error(String(error)));
  });
  return zipped;
}

async function addFiles(archive: Pack, meta: CheckpointMeta, weights: Uint8Array): Promise<void> {
  for (const [name, open] of exportedFiles(meta, weights)) {
    const { content, size } = await open();
    if (Buffer.isBuffer(content)) archive.entry({ name }, content);
    else await pipeline(content, archive.entry({ name, size }));
  }
  archive.finalize();
}

/** Files as they are handed out, by name: what other programs load, encrypted and with `.age` behind their names where that was asked for. */
export function exportedFiles(
  meta: CheckpointMeta,
  weights: Uint8Array,
): ReadonlyMap<string, () => Promise<ExportedFile>> {
  const { ageRecipients } = meta;
  const files = new Map<string, () => Promise<ExportedFile>>();
  for (const [name, content] of plainFiles(meta, weights)) {
    if (ageRecipients) files.set(`${name}.age`, () => encryptFile(content, ageRecipients));
    else files.set(name, () => Promise.resolve({ content, size: content.byteLength }));
  }
  return files;
}

/** PEFT's two for an adapter, `model.safetensors` for a whole model. */
function plainFiles(meta: CheckpointMeta, weights: Uint8Array): ReadonlyMap<string, Buffer> {
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
