import path from 'node:path';
import { DomainError } from '../core/errors';
import type { ModelFolder } from '../stack/model-folders';
import { engineFoldersOf, findModelFolders } from '../stack/model-folders';
import { stackPlaces } from '../stack/stack-record';
import type { FolderSize } from '../stores/delete-folder';
import { deleteFolder, removeBeneath, sizeOfFolder } from '../stores/delete-folder';
import type { DeletedRun } from '../stores/deleted-runs';
import { readDeletedRuns } from '../stores/deleted-runs';
import { leftEntries, oldLogs } from '../stores/left-files';
import type { GarbageSources, NamedModels, ServerReferences } from './garbage-references';
import { askServer, isServerSilent, modelsOfStores, openFolders, storesOf } from './garbage-references';
import type { Known } from './known-options';
import { requireKnownOptions } from './known-options';

/**
 * `deletion`: what a kill left of something that was being deleted. `temporary`: what a kill left of a file that was being
 * written or downloaded. `checkpoints`: all that a deleted run left at the local engine. `log`: a log that was set aside
 * because it was long.
 */
export type GarbageKind = 'deletion' | 'temporary' | 'checkpoints' | 'log';

/** Something that nothing refers to. */
export interface Garbage extends FolderSize {
  readonly kind: GarbageKind;
  readonly path: string;
  readonly ageSeconds: number;
  /** Why it may go. */
  readonly reason: string;
}

/** Something that looks left over and stays. */
export interface KeptGarbage {
  readonly path: string;
  readonly bytes: number;
  readonly reason: string;
}

export interface GarbageReport {
  readonly store: string;
  readonly items: readonly Garbage[];
  readonly kept: readonly KeptGarbage[];
  /** Of all items. */
  readonly bytes: number;
  /** Whether they were removed. */
  readonly applied: boolean;
}

export interface CleanUpOptions {
  /** Only what is older than this, too. */
  readonly olderThanSeconds?: number | undefined;
  /** Milliseconds since 1970; default the machine's clock. */
  readonly now?: number;
}

const OPTIONS: Known<CleanUpOptions> = { olderThanSeconds: true, now: true };

/** No write lasts this long. */
const TEMPORARY_SECONDS = 86_400;

/** What `collectGarbage` would remove. Changes nothing. */
export async function findGarbage(
  sources: GarbageSources,
  options: CleanUpOptions = {},
): Promise<GarbageReport> {
  requireKnownOptions('storage.planCleanUp', options, OPTIONS);
  const { found, kept } = await search(sources, options);
  return reportOf(sources, { found, kept, applied: false });
}

/**
 * Removes what nothing refers to. Folders are renamed first, so that a kill leaves only what the next call finds; whoever else
 * removes the same is no trouble, and what another one removed is not told as freed here. No link is followed.
 */
export async function collectGarbage(
  sources: GarbageSources,
  options: CleanUpOptions = {},
): Promise<GarbageReport> {
  requireKnownOptions('storage.cleanUp', options, OPTIONS);
  const { found, kept } = await search(sources, options);
  const removed: Candidate[] = [];
  for (const candidate of found) if (await candidate.remove()) removed.push(candidate);
  return reportOf(sources, { found: removed, kept, applied: true });
}

interface Candidate {
  readonly item: Garbage;
  /** False where it is gone, or another one takes it away. */
  readonly remove: () => Promise<boolean>;
}

interface Search {
  readonly found: readonly Candidate[];
  readonly kept: readonly KeptGarbage[];
}

async function search(sources: GarbageSources, options: CleanUpOptions): Promise<Search> {
  const { store, dataFolder, cacheFolder } = sources;
  if (store.includes('://')) {
    throw new DomainError(
      'bad-config',
      `The store ${store} cannot be cleaned from here. Give --store FOLDER.`,
    );
  }
  const { now = Date.now(), olderThanSeconds = 0 } = options;
  const server = await askServer(sources);
  const open = await openFolders(sources, server);
  const places = [
    { root: store, isLeft: (folder: string) => !open.has(folder) },
    ...engineFoldersOf(dataFolder).map((root) => ({ root })),
    { root: path.join(cacheFolder, 'datasets') },
  ];
  const left: Candidate[] = [];
  for (const place of places) left.push(...(await leftIn(place, now)));
  const models = await modelsOfDeleted(sources, server, now);
  const all = [...left, ...models.found, ...(await logsIn(dataFolder, now))];
  return { found: all.filter(({ item }) => item.ageSeconds >= olderThanSeconds), kept: models.kept };
}

interface Place {
  readonly root: string;
  readonly isLeft?: (folder: string) => boolean;
}

async function leftIn({ root, isLeft }: Place, now: number): Promise<Candidate[]> {
  const found: Candidate[] = [];
  for await (const { path: own, kind, changedAt } of leftEntries(root, isLeft)) {
    const ageSeconds = ageOf(changedAt, now);
    if (kind === 'temporary' && ageSeconds < TEMPORARY_SECONDS) continue;
    const reason = kind === 'deletion' ? 'left of an interrupted deletion' : 'left of an interrupted write';
    const item = { kind, path: own, ageSeconds, reason, ...(await sizeOfFolder(own)) };
    found.push({ item, remove: () => removeBeneath(root, own) });
  }
  return found;
}

/** Whose runs are in the store or in one of the engine's own stack, or that anything there names, stay; so do all while no server says what its schedules ask. */
async function modelsOfDeleted(
  sources: GarbageSources,
  server: ServerReferences | null,
  now: number,
): Promise<Search> {
  const left = await deletedFolders(sources);
  if (left.length === 0) return { found: [], kept: [] };
  const namedFor = new Map<string, NamedModels>();
  const found: Candidate[] = [];
  const kept: KeptGarbage[] = [];
  for (const { folder, note } of left) {
    const size = await sizeOfFolder(folder.path);
    const stackFolder = path.dirname(folder.engineFolder);
    const named =
      namedFor.get(stackFolder) ?? (await modelsOfStores([sources.store, ...storesOf(stackFolder)]));
    namedFor.set(stackFolder, named);
    const isSilent = isServerSilent(sources, server, stackFolder);
    const holder = holderOf(folder.model, { named, server, silent: isSilent ? stackFolder : null });
    if (holder !== null) {
      kept.push({ path: folder.path, bytes: size.bytes, reason: holder });
      continue;
    }
    const ageSeconds = ageOf(Date.parse(note.at), now);
    const reason = `checkpoints of run ${note.run}, which was deleted`;
    found.push({
      item: { kind: 'checkpoints', path: folder.path, ageSeconds, reason, ...size },
      remove: () => deleteFolder(folder.engineFolder, 'checkpoints', folder.name),
    });
  }
  return { found, kept };
}

interface LeftModel {
  readonly folder: ModelFolder;
  readonly note: DeletedRun;
}

/** Each once, with the last note of it. */
async function deletedFolders({ store, dataFolder }: GarbageSources): Promise<LeftModel[]> {
  const byPath = new Map<string, LeftModel>();
  for (const note of await readDeletedRuns(store)) {
    for (const model of note.models) {
      for (const folder of await findModelFolders(dataFolder, model))
        byPath.set(folder.path, { folder, note });
    }
  }
  return [...byPath.values()];
}

interface Evidence {
  readonly named: NamedModels;
  readonly server: ServerReferences | null;
  /** Data folder of a stack whose server is not heard; null where none is missing. */
  readonly silent: string | null;
}

function holderOf(model: string, { named, server, silent }: Evidence): string | null {
  const where = named.models.get(model);
  if (where !== undefined) return `something in the store refers to it: ${where}`;
  if (named.unread !== null) return `something in a store may refer to it: ${named.unread}`;
  if (server?.models.has(model)) return 'a schedule or something under way refers to it';
  return silent === null
    ? null
    : `no Temporal server says whether a schedule refers to it: start \`everstep dev --data-dir ${silent}\` and repeat with that --data-dir`;
}

async function logsIn(dataFolder: string, now: number): Promise<Candidate[]> {
  const logs = await oldLogs(stackPlaces(dataFolder).logs);
  return logs
    .map(({ path: own, changedAt, bytes }) => ({
      item: {
        ...({ kind: 'log', path: own, bytes, files: 1 } as const),
        ...{ ageSeconds: ageOf(changedAt, now), reason: 'a log that was set aside' },
      },
      remove: () => removeBeneath(dataFolder, own),
    }))
    .filter(({ item }) => item.ageSeconds >= TEMPORARY_SECONDS);
}

function ageOf(changedAt: number, now: number): number {
  return Math.max(0, Math.floor((now - changedAt) / 1000));
}

function reportOf(
  { store }: GarbageSources,
  { found, kept, applied }: Search & { readonly applied: boolean },
): GarbageReport {
  const items = found.map(({ item }) => item);
  return { store, items, kept, bytes: items.reduce((sum, { bytes }) => sum + bytes, 0), applied };
}
