import { execFileSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { CheckpointStore } from '../../../../../src/engines/local/server/checkpoints/checkpoint-store';

/** Folders of checkpoints that somebody else has written. */
const ADDRESS = { modelId: 'a1:train:0', kind: 'weights', name: 'mine' } as const;
const LATER = Date.parse('2030-01-01T00:00:00Z');

let folder: string;
let root: string;
let victim: string;

beforeEach(async () => {
  folder = mkdtempSync(path.join(tmpdir(), 'everstep-foreign-'));
  root = path.join(folder, 'checkpoints');
  victim = path.join(folder, 'victim');
  mkdirSync(victim);
  writeFileSync(path.join(victim, 'thesis.tex'), 'years of work');
  const store = await CheckpointStore.open(root, at(0));
  const origin = { ...ADDRESS, baseModel: 'm', lora: null, sequence: 1, userMetadata: null };
  const times = { createdAt: '2026-01-01T00:00:00.000Z', expiresAt: '2026-01-02T00:00:00.000Z' };
  await store.save({ ...origin, ...times }, { weights: [], optimizer: null });
});

afterEach(() => {
  rmSync(folder, { recursive: true, force: true });
});

const placeOf = (name: string, model = 'a1_train_0', kind = 'weights') => path.join(root, model, kind, name);

const HOUR_MS = 3_600_000;
const at = (now: number) => ({ now: () => now, elapsed: () => 0 });

/** A checkpoint at this place whose description says so of itself; without a digest, as old ones are. */
function plant(place: string, says: object): void {
  mkdirSync(place, { recursive: true });
  const meta = JSON.parse(readFileSync(path.join(placeOf('mine'), 'meta.json'), 'utf8')) as object;
  writeFileSync(path.join(place, 'meta.json'), JSON.stringify({ ...meta, digest: undefined, ...says }));
}

/** Opened long after everything has expired, and swept. Returns what it knew before. */
async function sweep(): Promise<string[]> {
  const known = (await CheckpointStore.open(root, at(0))).list();
  let elapsed = 0;
  const store = await CheckpointStore.open(root, { now: () => LATER, elapsed: () => elapsed });
  for (const { modelId } of store.list()) await store.close(modelId);
  elapsed = HOUR_MS;
  await store.removeExpired();
  return known.map(({ name }) => name);
}

test('what is its own goes when its time is over', async () => {
  expect(await sweep()).toEqual(['mine']);
  expect(existsSync(placeOf('mine'))).toBe(false);
});

test.each([
  ['a name', { name: '../../../victim' }],
  ['a model', { modelId: '../victim', name: 'x' }],
  ['a model of another folder', { modelId: 'b2:train:0' }],
  ['another kind', { kind: 'sampler_weights' }],
  ['another name', { name: 'other' }],
])(
  'a description that says %s that is not its place’s is no checkpoint’s, and removes nothing',
  async (_what, says) => {
    plant(placeOf('evil'), { name: 'evil', ...says });

    expect(await sweep()).toEqual(['mine']);
    expect(readFileSync(path.join(victim, 'thesis.tex'), 'utf8')).toBe('years of work');
    expect(existsSync(placeOf('evil'))).toBe(true);
  },
);

test('a folder that was copied under another name is not known by the first one’s', async () => {
  cpSync(placeOf('mine'), placeOf('copy'), { recursive: true });
  rmSync(placeOf('mine'), { recursive: true });

  expect(await sweep()).toEqual([]);
  expect(existsSync(placeOf('copy'))).toBe(true);
});

test('a folder that holds another checkpoint says whose, until it is saved again', async () => {
  plant(placeOf('swapped'), { modelId: 'b2:train:0' });
  const store = await CheckpointStore.open(root, at(0));
  const address = { ...ADDRESS, name: 'swapped' };

  expect(() => store.require(address)).toThrow(
    'Checkpoint not found: tinker://a1:train:0/weights/swapped. Its folder holds another one, by its meta.json "tinker://b2:train:0/weights/mine"',
  );
  const origin = { baseModel: 'm', lora: null, sequence: 2, userMetadata: null, expiresAt: null };
  const createdAt = '2026-01-01T00:00:00.000Z';
  await store.save({ ...address, ...origin, createdAt }, { weights: [], optimizer: null });
  await store.remove(address);
  expect(() => store.require(address)).toThrow('It was never saved');
});

test.each([
  ['a checkpoint', () => placeOf('linked')],
  ['a kind', () => path.join(root, 'a1_train_0', 'sampler_weights')],
  ['a model', () => path.join(root, 'b2_train_0')],
])('a link in place of %s leads nowhere', async (_what, place) => {
  plant(path.join(victim, 'weights', 'linked'), { modelId: 'b2:train:0', name: 'linked' });
  symlinkSync(victim, place());

  expect(await sweep()).toEqual(['mine']);
  expect(readFileSync(path.join(victim, 'thesis.tex'), 'utf8')).toBe('years of work');
});

test('a model’s folder that becomes a link later has nothing removed behind it', async () => {
  const store = await CheckpointStore.open(root, at(0));
  renameSync(path.join(root, 'a1_train_0'), path.join(victim, 'moved'));
  symlinkSync(path.join(victim, 'moved'), path.join(root, 'a1_train_0'));

  await expect(store.remove(ADDRESS)).rejects.toThrow('or only by a link');

  expect(existsSync(path.join(victim, 'moved', 'weights', 'mine', 'weights.safetensors'))).toBe(true);
});

test('of what begins with a dot only what saving left is cleared away', async () => {
  for (const name of ['.git', '.unfinished-0-torn', '.replaced-mine', '.replaced-..'])
    mkdirSync(path.join(root, 'a1_train_0', 'weights', name));
  mkdirSync(path.join(root, 'a1_train_0', '.git', '.git'), { recursive: true });

  await CheckpointStore.open(root, at(0));

  const left = ['.git', '.unfinished-0-torn', '.replaced-mine', '.replaced-..'].filter((name) =>
    existsSync(path.join(root, 'a1_train_0', 'weights', name)),
  );
  expect(left).toEqual(['.git']);
  expect(existsSync(path.join(root, 'a1_train_0', '.git', '.git'))).toBe(true);
});

test('a description that is a pipe, a folder or without end keeps nobody waiting', async () => {
  for (const name of ['pipe', 'folder', 'long']) mkdirSync(placeOf(name));
  execFileSync('mkfifo', [path.join(placeOf('pipe'), 'meta.json')]);
  mkdirSync(path.join(placeOf('folder'), 'meta.json'));
  execFileSync('truncate', ['--size', '1T', path.join(placeOf('long'), 'meta.json')]);

  expect(await sweep()).toEqual(['mine']);
});

/** Puts something else in a file's place. */
const INSTEAD: Readonly<Record<string, (file: string) => unknown>> = {
  'a pipe': (file) => execFileSync('mkfifo', [file]),
  'a folder': (file) => execFileSync('mkdir', [file]),
  'a link': (file) => execFileSync('ln', ['-s', '/dev/zero', file]),
};
const KINDS_INSTEAD = Object.keys(INSTEAD);

function replaceBy(what: string, file: string): void {
  rmSync(file, { force: true, recursive: true });
  INSTEAD[what]?.(file);
}

test.each(KINDS_INSTEAD)('%s in place of the tensors is refused by the checkpoint’s path', async (what) => {
  const saved = await CheckpointStore.open(root, at(0));
  const origin = { ...ADDRESS, name: 'full', baseModel: 'm', lora: null, sequence: 2, userMetadata: null };
  const times = { createdAt: '2026-01-01T00:00:00.000Z', expiresAt: null };
  const optimizer = { step: 1, firstMoment: [], secondMoment: [] };
  await saved.save({ ...origin, ...times }, { weights: [], optimizer });
  replaceBy(what, path.join(placeOf('mine'), 'weights.safetensors'));
  replaceBy(what, path.join(placeOf('full'), 'optimizer.safetensors'));
  const store = await CheckpointStore.open(root, at(0));
  const full = { ...ADDRESS, name: 'full' };

  const refusal = (file: string, name: string) => ({
    category: 'user',
    message: `${file} of checkpoint tinker://a1:train:0/weights/${name} is damaged: it is ${what} where a file belongs. Use an earlier checkpoint.`,
  });
  await expect(store.loadWeightsFile(ADDRESS)).rejects.toMatchObject(refusal('weights.safetensors', 'mine'));
  await expect(store.loadWeights(ADDRESS)).rejects.toMatchObject(refusal('weights.safetensors', 'mine'));
  await expect(store.loadState(full, { optimizer: true })).rejects.toMatchObject(
    refusal('optimizer.safetensors', 'full'),
  );
  expect(await store.loadState(full, { optimizer: false })).toEqual({ weights: [], optimizer: null });
});

test('of tensors no more is read than their description says', async () => {
  execFileSync('truncate', ['--size', '1T', path.join(placeOf('mine'), 'weights.safetensors')]);
  const store = await CheckpointStore.open(root, at(0));

  await expect(store.loadWeightsFile(ADDRESS)).rejects.toThrow(
    /tinker:\/\/a1:train:0\/weights\/mine is damaged: it has 1099511627776 bytes, and no more than \d+ belong there/,
  );
});

test('a folder that becomes a link later is neither read nor written through', async () => {
  const store = await CheckpointStore.open(root, at(0));
  renameSync(placeOf('mine'), path.join(victim, 'moved'));
  symlinkSync(path.join(victim, 'moved'), placeOf('mine'));
  const before = readFileSync(path.join(victim, 'moved', 'meta.json'), 'utf8');

  await expect(store.loadWeights(ADDRESS)).rejects.toThrow('mine is reached by a link');
  await expect(store.setExpiry(ADDRESS, null)).rejects.toThrow('mine is reached by a link');

  expect(readFileSync(path.join(victim, 'moved', 'meta.json'), 'utf8')).toBe(before);
});

test('a link under the name that a description has while it is written is not written through', async () => {
  symlinkSync(path.join(victim, 'thesis.tex'), path.join(placeOf('mine'), '.meta.json'));
  const store = await CheckpointStore.open(root, at(0));

  await store.setExpiry(ADDRESS, null);

  expect(readFileSync(path.join(victim, 'thesis.tex'), 'utf8')).toBe('years of work');
  expect((await CheckpointStore.open(root, at(0))).require(ADDRESS).expiresAt).toBeNull();
});

test.each(KINDS_INSTEAD)('%s in place of looks.json keeps no engine from starting', async (what) => {
  const boot = { id: 'boot', elapsed: () => 0 };
  for (const name of ['looks.json', '.looks.json']) {
    replaceBy(what, path.join(root, name));

    const store = await CheckpointStore.open(root, { ...at(LATER), boot });

    expect(store.list()).toHaveLength(1);
    rmSync(path.join(root, name), { force: true, recursive: true });
  }
});

const LORA = { rank: 4, seed: 1, trainAttn: true, trainMlp: true, trainUnembed: true };

test.each<[string, object]>([
  ['a rank of a billion', { lora: { ...LORA, rank: 1e9 } }],
  ['a rank below 1', { lora: { ...LORA, rank: -1 } }],
  ['a base model that goes up', { baseModel: '../../x' }],
  ['a base model with controls', { baseModel: 'm\u001b[31m' }],
  ['a base model without end', { baseModel: 'm'.repeat(301) }],
  ['more steps than the protocol counts', { optimizerStep: Number.MAX_SAFE_INTEGER }],
  ['a step below 0', { optimizerStep: -1 }],
  ['more requests than the protocol counts', { sequence: 2 ** 31 }],
  ['a size below 0', { sizeBytes: -1 }],
  ['more bytes than files of tensors have', { sizeBytes: 2 ** 60 }],
  ['metadata longer than a request may send', { userMetadata: { a: 'y'.repeat(262_144) } }],
  ['recipients that are none of age', { ageRecipients: ['ssh-ed25519 AAAA'] }],
])('a description with %s is no checkpoint’s', async (_what, says) => {
  plant(placeOf('odd'), { name: 'odd', ...says });
  plant(placeOf('even'), { name: 'even', lora: LORA, optimizerStep: 2 ** 31 - 1 });

  const names = (await CheckpointStore.open(root, at(0))).list().map(({ name }) => name);

  expect(names.sort()).toEqual(['even', 'mine']);
});

test('a base model that is served here is known whatever it is called', async () => {
  plant(placeOf('odd'), { name: 'odd', baseModel: '../models/mine' });

  const store = await CheckpointStore.open(root, at(0), ['../models/mine']);

  expect(store.list().map(({ name }) => name)).toContain('odd');
});
