import { mkdir, rename, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { ModelState, NamedTensor } from '../../model-runtime';
import type { CheckpointFolder, CheckpointMeta, CheckpointOrigin } from './checkpoint-files';
import {
  liesBeneath,
  readMeta,
  readState,
  readWeights,
  readWeightsFile,
  removeBeneath,
  shareWeights,
  subfoldersOf,
  writeCheckpoint,
  writeMeta,
} from './checkpoint-files';
import type { CheckpointAddress } from './checkpoint-path';
import { ignoreExisting, ignoreMissing, notFound } from './damage';
import type { Clocks } from './expiry';
import { Expiry, newestStates } from './expiry';
import { readKeptLooks, writeKeptLooks } from './kept-looks';
import {
  folderOf,
  formatCheckpointPath,
  isAtHome,
  isCheckpointName,
  KINDS,
  leadsElsewhere,
} from './checkpoint-path';

/** Beginnings that no checkpoint name can have: half-written folders, and ones being replaced or removed. */
const UNFINISHED = '.unfinished-';
const REPLACED = '.replaced-';
/** Beside the kinds of a model whose run was closed. */
const CLOSED = 'closed';

/**
 * Named checkpoints on disk, which outlive the process.
 *
 *     <folder>/<model id with _ for :>/{weights|sampler_weights|external_weights}/<name>/
 *     <folder>/<model id with _ for :>/closed     there once its client is done with it
 *     <folder>/looks.json                         which were seen to be over, and since when
 *
 * One whose time is over goes, but not the newest state of a model that its client is not done with: a run that waits, for an engine
 * that was away for days or a worker that is, goes on from it.
 *
 * A folder is written under another name and renamed, so that a name either holds a whole checkpoint or none. A checkpoint is
 * known by its place; a folder whose description names another place is none, and is left alone. What has the same weights and name,
 * as a state and what is sampled of it, shares their file.
 */
export class CheckpointStore {
  private readonly checkpoints = new Map<string, CheckpointMeta>();
  /** What descriptions that are of another place say that they are of, by the folders they lie in. */
  private readonly strangers = new Map<string, string>();
  private readonly turns = new Map<string, Promise<null>>();
  private unfinishedCount = 0;

  private readonly closed = new Set<string>();
  /** What `looks.json` says; one that is not of this engine is written anew. */
  private keptEnds = '';

  private constructor(
    private readonly folder: string,
    private readonly expiry: Expiry,
    private readonly baseModels: readonly string[],
  ) {}

  /** `baseModels` are those served here, whatever they are called. */
  static async open(
    folder: string,
    clocks: Clocks,
    baseModels: readonly string[] = [],
  ): Promise<CheckpointStore> {
    await mkdir(folder, { recursive: true });
    const store = new CheckpointStore(folder, new Expiry(clocks, await readKeptLooks(folder)), baseModels);
    for (const model of await subfoldersOf(folder)) {
      const kinds = await subfoldersOf(path.join(folder, model));
      for (const kind of KINDS) if (kinds.includes(kind)) await store.readKind({ model, kind });
      if (await isFile(path.join(folder, model, CLOSED))) store.closed.add(model);
    }
    for (const meta of store.checkpoints.values()) store.expiry.watch(meta);
    await store.keepLooks();
    return store;
  }

  find(address: CheckpointAddress): CheckpointMeta | undefined {
    const meta = this.checkpoints.get(formatCheckpointPath(address));
    return meta && this.over([meta]).length === 0 ? meta : undefined;
  }

  require(address: CheckpointAddress): CheckpointMeta {
    const meta = this.find(address);
    if (meta) return meta;
    const stranger = this.strangers.get(this.folderAt(address));
    throw notFound(address, stranger);
  }

  /** Oldest first. */
  list(): readonly CheckpointMeta[] {
    const all = [...this.checkpoints.values()];
    const over = new Set(this.over(all));
    return all
      .filter((meta) => !over.has(meta))
      .sort((one, other) => (one.createdAt < other.createdAt ? -1 : 1));
  }

  /** Replaces what the name holds. */
  async save(origin: CheckpointOrigin, state: ModelState): Promise<CheckpointMeta> {
    const folder = this.folderAt(origin);
    const unfinished = path.join(
      path.dirname(folder),
      `${UNFINISHED}${this.unfinishedCount++}-${origin.name}`,
    );
    await removeBeneath(this.folder, unfinished);
    const meta = await writeCheckpoint(unfinished, origin, state).catch(async (error: unknown) => {
      await removeBeneath(this.folder, unfinished);
      throw error;
    });
    await this.shareWeights({ folder: unfinished, meta });
    await this.inTurn(origin, async () => {
      await this.moveAway(origin);
      await rename(unfinished, folder);
      this.checkpoints.set(formatCheckpointPath(origin), meta);
      this.strangers.delete(folder);
      this.expiry.forget(origin);
      this.expiry.watch(meta);
      await removeBeneath(this.folder, this.replacedFolder(origin));
    });
    return meta;
  }

  async loadState(address: CheckpointAddress, options: { readonly optimizer: boolean }): Promise<ModelState> {
    return this.inTurn(address, () => readState(this.folderAt(address), this.require(address), options));
  }

  async loadWeights(address: CheckpointAddress): Promise<readonly NamedTensor[]> {
    return this.inTurn(address, () => readWeights(this.folderAt(address), this.require(address)));
  }

  async loadWeightsFile(address: CheckpointAddress): Promise<Uint8Array> {
    return this.inTurn(address, () => readWeightsFile(this.folderAt(address), this.require(address)));
  }

  /** The same weights, and optimizer where there is one, under another address. */
  async copy(from: CheckpointAddress, to: CheckpointOrigin): Promise<CheckpointMeta> {
    const { optimizerStep } = this.require(from);
    return this.save(to, await this.loadState(from, { optimizer: optimizerStep !== null }));
  }

  async remove(address: CheckpointAddress): Promise<void> {
    return this.inTurn(address, () => this.removeNow(address));
  }

  async setExpiry(address: CheckpointAddress, expiresAt: string | null): Promise<void> {
    await this.inTurn(address, async () => {
      const meta = { ...this.require(address), expiresAt };
      await writeMeta(this.folderAt(address), meta);
      this.checkpoints.set(formatCheckpointPath(address), meta);
      this.expiry.watch(meta);
    });
  }

  /** Its client is done with a model: of its checkpoints the newest, too, goes when its time is over. */
  async close(modelId: string): Promise<void> {
    const model = folderOf(modelId);
    const isSaved = [...this.checkpoints.values()].some((meta) => meta.modelId === modelId);
    if (!isSaved || this.closed.has(model)) return;
    const file = path.join(this.folder, model, CLOSED);
    // What lies there already, a link above all, is not written to.
    if (await liesBeneath(this.folder, file)) await writeFile(file, '', { flag: 'wx' }).catch(ignoreExisting);
    this.closed.add(model);
  }

  async removeExpired(): Promise<void> {
    for (const meta of this.over([...this.checkpoints.values()])) {
      await this.inTurn(meta, async () => {
        const isStillThis = this.checkpoints.get(formatCheckpointPath(meta)) === meta;
        if (isStillThis) await this.removeNow(meta);
      });
    }
    await this.keepLooks();
  }

  /** For the next engine, as often as something has changed. */
  private async keepLooks(): Promise<void> {
    const looks = this.expiry.handOn();
    if (looks === null) return;
    const ends = JSON.stringify(
      Object.entries(looks.looks).map(([address, { over }]) => [address, Math.round(over / 1000)]),
    );
    if (ends === this.keptEnds) return;
    await writeKeptLooks(this.folder, looks);
    this.keptEnds = ends;
  }

  /** With a checkpoint of the same name and another kind, which is not replaced meanwhile. */
  private async shareWeights(to: CheckpointFolder): Promise<void> {
    for (const kind of KINDS.filter((other) => other !== to.meta.kind)) {
      const sibling = { ...to.meta, kind };
      await this.inTurn(sibling, async () => {
        const meta = this.checkpoints.get(formatCheckpointPath(sibling));
        if (meta) await shareWeights({ folder: this.folderAt(sibling), meta }, to);
      });
    }
  }

  private over(checkpoints: readonly CheckpointMeta[]): CheckpointMeta[] {
    const over = checkpoints.filter((meta) => this.expiry.isOver(meta));
    if (over.length === 0) return over;
    const newest = newestStates(this.checkpoints.values());
    return over.filter(
      (meta) => newest.get(meta.modelId) !== meta || this.closed.has(folderOf(meta.modelId)),
    );
  }

  private async removeNow(address: CheckpointAddress): Promise<void> {
    this.checkpoints.delete(formatCheckpointPath(address));
    this.expiry.forget(address);
    const doomed = path.join(
      path.dirname(this.folderAt(address)),
      `${UNFINISHED}${this.unfinishedCount++}-${address.name}`,
    );
    if (!(await liesBeneath(this.folder, doomed))) return;
    // Renamed first: a crash while removing must not leave half a checkpoint under its name.
    await rename(this.folderAt(address), doomed).catch(ignoreMissing);
    await removeBeneath(this.folder, doomed);
  }

  /** Description and files of a name belong together: nothing may replace one while the other is read or written. */
  private async inTurn<Value>(address: CheckpointAddress, work: () => Promise<Value>): Promise<Value> {
    const path = formatCheckpointPath(address);
    const turn = (this.turns.get(path) ?? Promise.resolve()).then(work);
    const settled = turn.then(
      () => null,
      () => null,
    );
    this.turns.set(path, settled);
    try {
      return await turn;
    } finally {
      if (this.turns.get(path) === settled) this.turns.delete(path);
    }
  }

  private folderAt({ modelId, kind, name }: CheckpointAddress): string {
    return path.join(this.folder, folderOf(modelId), kind, name);
  }

  private replacedFolder(address: CheckpointAddress): string {
    return path.join(path.dirname(this.folderAt(address)), `${REPLACED}${address.name}`);
  }

  private async moveAway(address: CheckpointAddress): Promise<void> {
    await removeBeneath(this.folder, this.replacedFolder(address));
    await rename(this.folderAt(address), this.replacedFolder(address)).catch(ignoreMissing);
  }

  private async readKind(place: { readonly model: string; readonly kind: string }): Promise<void> {
    const folder = path.join(this.folder, place.model, place.kind);
    for (const name of await this.settledNames(folder)) {
      const meta = await readMeta(path.join(folder, name));
      if (!meta || !this.isKnown(meta)) continue;
      const address = formatCheckpointPath(meta);
      if (isAtHome(meta, { ...place, name })) this.checkpoints.set(address, meta);
      else this.strangers.set(path.join(folder, name), address);
    }
  }

  /** Of the checkpoints in a folder. What an engine that was killed left half-way is put right first. */
  private async settledNames(folder: string): Promise<string[]> {
    const names = new Set(await subfoldersOf(folder));
    for (const entry of [...names]) {
      const name = entry.slice(REPLACED.length);
      if (entry.startsWith(REPLACED) && isCheckpointName(name) && !names.has(name)) {
        await rename(path.join(folder, entry), path.join(folder, name));
        names.add(name);
      } else if (entry.startsWith(REPLACED) || entry.startsWith(UNFINISHED)) {
        await removeBeneath(this.folder, path.join(folder, entry));
      }
    }
    return [...names].filter(isCheckpointName);
  }

  private isKnown({ baseModel }: CheckpointMeta): boolean {
    return this.baseModels.includes(baseModel) || !leadsElsewhere(baseModel);
  }
}

async function isFile(file: string): Promise<boolean> {
  return stat(file).then(
    (entry) => entry.isFile(),
    () => false,
  );
}
