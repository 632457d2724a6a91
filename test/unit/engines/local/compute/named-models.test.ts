import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { addNamedModels, findModels } from '../../../../../src/engines/local/compute/base-model';
import { createModelRuntime } from '../../../../../src/engines/local/compute/create-model-runtime';
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
