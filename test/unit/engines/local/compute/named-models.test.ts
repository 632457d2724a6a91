import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { addNamedModels, findModels } from '../../../../../src/engines/local/compute/base-model';
import { createModelRuntime } from '../../../../../src/engines/local/compute/create-model-runtime';
import { baseLayout } from '../../../../../src/engines/local/compute/layout';
import { parameterCount } from '../../../../../src/engines/local/compute/model-shape';
import { readEnvironment } from '../../../../../src/config/environment';
import { runEngineService } from '../../../../../src/stack/engine-service';

const TINY = path.join(__dirname, '../../../../../models/everstep-tiny');
const NAME = 'Qwen/Qwen3-8B-Base';

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'everstep-named-'));
});
afterEach(() => {
  rmSync(folder, { recursive: true, force: true });
});

function refusalOf(name: string, files: Readonly<Record<string, string>>): () => unknown {
  for (const [file, text] of Object.entries(files)) writeFileSync(path.join(folder, file), text);
  return () => addNamedModels(new Map(), [{ name, folder }]);
}

test('a model runs under the name it is given, beside the one that comes with the package', async () => {
  const runtime = await createModelRuntime({ threads: 1, namedModels: [{ name: NAME, folder: TINY }] });
  try {
    expect(runtime.baseModels.map(({ name }) => name)).toEqual(['everstep/tiny', NAME]);
    const data = [
      {
        tokens: Int32Array.of(4, 50),
        targetTokens: Int32Array.of(50, 51),
        lossInputs: { weights: Float32Array.of(1, 1) },
      },
    ];
    const losses = [];
    for (const baseModel of ['everstep/tiny', NAME]) {
      const model = await runtime.createModel({ baseModel, lora: null });
      losses.push(
        await model.forwardBackward(data, { name: 'cross_entropy', config: {} }, { backward: false }),
      );
      model.dispose();
    }
    expect(losses[1]).toEqual(losses[0]);
  } finally {
    await runtime.close();
  }
});

test('a name has one folder', () => {
  const named = [{ name: 'everstep/tiny', folder: TINY }];

  expect(() => addNamedModels(findModels([TINY]), named)).toThrow('"everstep/tiny" already');
});

const WHOLE = { 'model.safetensors': '', 'tokenizer.json': '{}' };
test.each<[string, Readonly<Record<string, string>>, string]>([
  ['empty', {}, 'has no config.json and no model.safetensors and no tokenizer.json'],
  ['without weights', { 'config.json': '{}', 'tokenizer.json': '{}' }, 'has no model.safetensors'],
  ['with half a configuration', { ...WHOLE, 'config.json': '{"a' }, 'config.json is not a JSON object'],
  ['of another architecture', { ...WHOLE, 'config.json': '{}' }, '"hidden_size" must be'],
])('a folder %s is refused by name', (_, files, reason) => {
  const refusal = refusalOf('mine', files);

  expect(refusal).toThrow(reason);
  expect(refusal).toThrow(folder);
});

/** What the tiny model's folder has, with other numbers in its configuration. */
function copyOfTiny(changes: object): string {
  const own = path.join(folder, 'copy');
  cpSync(TINY, own, { recursive: true });
  const config: object = JSON.parse(readFileSync(path.join(TINY, 'config.json'), 'utf8')) as object;
  writeFileSync(path.join(own, 'config.json'), JSON.stringify({ ...config, ...changes }));
  return own;
}

test.each([
  [{ num_hidden_layers: 1_000_000_000 }, 'and model.safetensors has room for'],
  [{ vocab_size: 2 ** 31 }, 'and model.safetensors has room for'],
  [{ num_hidden_layers: 2 }, 'is not part of the model'],
  [{ max_position_embeddings: 1_000_000_000_000 }, 'MiB for position embeddings and has'],
])('a configuration that names %j costs no memory', async (changes, reason) => {
  const model = { name: NAME, folder: copyOfTiny(changes) };
  const runtime = await createModelRuntime({ threads: 1, namedModels: [model] });
  try {
    await expect(runtime.createModel({ baseModel: NAME, lora: null })).rejects.toThrow(reason);
    const model = await runtime.createModel({ baseModel: 'everstep/tiny', lora: null });
    model.dispose();
  } finally {
    await runtime.close();
  }
});

test('the weights that a shape has are those of its layout', () => {
  for (const { shape } of findModels([TINY]).values()) {
    for (const tied of [true, false]) {
      expect(parameterCount({ ...shape, tied })).toBe(baseLayout({ ...shape, tied }).size);
    }
  }
});

test.each(['mine', '=folder', 'a name=folder', 'mine='])('--model %s is refused', async (model) => {
  const service = runEngineService({
    environment: readEnvironment(),
    port: 1,
    host: '127.0.0.1',
    allowedHosts: [],
    tokenFile: null,
    threads: 1,
    models: [model],
    strict: null,
    stop: new Promise(() => null),
    onReady: () => null,
  });

  await expect(service).rejects.toThrow('give NAME=FOLDER');
});
