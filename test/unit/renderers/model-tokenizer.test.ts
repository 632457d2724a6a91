import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { tokenizerOf } from '../../../src/renderers/model-tokenizer';
import { byteTokenizerDefinition } from './byte-tokenizer-files';

let cacheFolder: string;

beforeEach(async () => {
  cacheFolder = await mkdtemp(path.join(tmpdir(), 'everstep-tokenizer-'));
});

afterEach(() => rm(cacheFolder, { recursive: true, force: true }));

test.each([
  ['meta-llama/Llama-3.1-8B-Instruct', 'thinkingmachineslabinc--meta-llama-3-instruct-tokenizer'],
  ['meta-llama/Llama-3.2-1B:peft:131072', 'thinkingmachineslabinc--meta-llama-3-instruct-tokenizer'],
  ['Qwen/Qwen3-8B', 'Qwen--Qwen3-8B'],
])('the tokenizer of %s is that of %s, which is open', async (model, folder) => {
  const local = path.join(cacheFolder, 'tokenizers', folder, 'local');
  await mkdir(local, { recursive: true });
  await writeFile(path.join(local, 'tokenizer.json'), JSON.stringify(byteTokenizerDefinition()));

  const tokenizer = await tokenizerOf(model, { cacheFolder });

  expect(tokenizer.decode(tokenizer.encode('two'))).toBe('two');
});
