import { mkdir, readdir, rename } from 'node:fs/promises';
import path from 'node:path';
import { DomainError } from '../../../../core/errors';
import type { ModelState, NamedTensor } from '../../model-runtime';
import type { CheckpointMeta, CheckpointOrigin } from './checkpoint-files';
import {
  liesBeneath,
  readMeta,
  readState,
  readWeights,
  readWeightsFile,
  removeBeneath,
  writeCheckpoint,
  writeMeta,
} from './checkpoint-files';
import type { CheckpointAddress } from './checkpoint-path';
import { isMissing } from './damage';
import { folderOf, formatCheckpointPath, isAtHome, isCheckpointName, KINDS } from './checkpoint-path';

/** Beginnings that no checkpoint name can have: half-written folders, and ones being replaced or removed. */
const UNFINISHED = '.unfinished-';
const REPLACED = '.replaced-';

/**
 * Named checkpoints on disk, which outlive the process.
 *
 *     <folder>/<model id with _ for :>/{weights|sampler_weights|external_weights}/<name>/
 *
 * A folder is written under another name and renamed, so that a name either holds a whole checkpoint or none. A checkpoint is
 * known by its place; a folder whose description names another place is none, and is left alone.
 */
export class CheckpointStore {
  private readonly checkpoints = new Map<string, CheckpointMeta>();
  private readonly turns = new Map<string, Promise<null>>();
  private unfinishedCount = 0;

  private constructor(
    private readonly folder: string,
    private readonly now: () => number,
  ) {}

  static async open(folder: string, now: () => number): Promise<CheckpointStore> {
    const store = new CheckpointStore(folder, now);
    await mkdir(folder, { recursive: true });
    for (const model of await subfoldersOf(folder)) {
      const kinds = await subfoldersOf(path.join(folder, model));
      for (const kind of KINDS) if (kinds.includes(kind)) await store.readKind({ model, kind });
    }
    return store;
  }

  find(address: CheckpointAddress): CheckpointMeta | undefined {
    const meta = this.checkpoints.get(formatCheckpointPath(address));
    return meta && !isExpired(meta, this.now()) ? meta : undefined;
  }

  require(address: CheckpointAddress): CheckpointMeta {
    const meta = this.find(address);
    if (meta) return meta;
    throw new DomainError(
      'checkpoint-missing',
      `Checkpoint not found: ${formatCheckpointPath(address)}. It was never saved, was deleted, has expired, or its meta.json is damaged.`,
      { category: 'user' },
    );
  }

  /** Oldest first. */
  list(): readonly CheckpointMeta[] {
    const now = this.now();
    return [...this.checkpoints.values()]
      .filter((meta) => !isExpired(meta, now))
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
    await this.inTurn(origin, async () => {
      await this.moveAway(origin);
      await rename(unfinished, folder);
      this.checkpoints.set(formatCheckpointPath(origin), meta);
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
    });
  }

  async removeExpired(now: number): Promise<void> {
    for (const meta of [...this.checkpoints.values()]) {
      if (!isExpired(meta, now)) continue;
      await this.inTurn(meta, async () => {
        const isStillThis = this.checkpoints.get(formatCheckpointPath(meta)) === meta;
        if (isStillThis) await this.removeNow(meta);
      });
    }
  }

  private async removeNow(address: CheckpointAddress): Promise<void> {
    this.checkpoints.delete(formatCheckpointPath(address));
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
    for (const name of [...names].filter(isCheckpointName)) {
      const meta = await readMeta(path.join(folder, name));
      if (meta && isAtHome(meta, { ...place, name })) this.checkpoints.set(formatCheckpointPath(meta), meta);
    }
  }
}

async function subfoldersOf(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { withFileTypes: true });
  return entries.filter((entry) => entry.isDirectory()).map(({ name }) => name);
}

function isExpired(meta: CheckpointMeta, now: number): boolean {
  return meta.expiresAt !== null && Date.parse(meta.expiresAt) <= now;
}

function ignoreMissing(error: unknown): void {
  if (!isMissing(error)) throw error;
}
