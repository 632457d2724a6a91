import { existsSync } from 'node:fs';
import path from 'node:path';
import type { Client } from '@temporalio/client';
import { ScheduleNotFoundError } from '@temporalio/client';
import { usualStore } from '../config/remembered-store';
import { DomainError } from '../core/errors';
import { findStack, stackPlaces } from '../stack/stack-record';
import { listBenchmarks } from '../stores/eval-places';
import { namesIn } from '../stores/folder-names';
import { readWholeFile } from '../stores/reading';
import { modelsIn } from './references';
import type { RunSources } from './run-handle';
import { isClosed } from './run-report';

export interface GarbageSources extends RunSources {
  readonly store: string;
  readonly dataFolder: string;
  /** Holds downloads. */
  readonly cacheFolder: string;
}

/** What the server has under way and has been told to do. */
export interface ServerReferences {
  /** Training runs and eval runs of which something is under way. */
  readonly busy: ReadonlySet<string>;
  /** Models of a training service that workflows under way and schedules name. */
  readonly models: ReadonlySet<string>;
}

/** Lists may be long, but each answer of the server is one page. */
const LIST_LIMIT_MS = 60_000;

/** null where no server answers. */
export async function askServer({ link }: Pick<RunSources, 'link'>): Promise<ServerReferences | null> {
  const client = await link.find();
  if (!client) return null;
  return client.withDeadline(Date.now() + LIST_LIMIT_MS, async () => {
    const busy = new Set<string>();
    const texts: string[] = [];
    for await (const { workflowId, memo } of client.workflow.list({ query: 'ExecutionStatus = "Running"' })) {
      const [, name] = workflowId.split('/');
      if (name !== undefined) busy.add(name);
      texts.push(JSON.stringify(memo ?? {}));
    }
    return { busy, models: modelsIn([...texts, ...(await scheduleTexts(client))].join('\n')) };
  });
}

/**
 * Whether a server that does not answer may have something to do, now or later, with an engine: the one that is configured, or that
 * of the engine's own stack, whose data folder is `folder`.
 */
export function isServerSilent(
  { link }: GarbageSources,
  server: ServerReferences | null,
  folder: string,
): boolean {
  const { target } = link;
  if (server === null && target !== null) return true;
  if (!existsSync(stackPlaces(folder).database)) return false;
  return server === null || findStack(folder)?.temporalAddress !== target?.address;
}

async function scheduleTexts(client: Client): Promise<string[]> {
  const texts: string[] = [];
  for await (const { scheduleId } of client.schedule.list()) {
    try {
      const { memo, action } = await client.schedule.getHandle(scheduleId).describe();
      texts.push(JSON.stringify({ memo, action }));
    } catch (error) {
      if (!(error instanceof ScheduleNotFoundError)) throw error;
    }
  }
  return texts;
}

/** Folders of runs and eval runs that have not ended: what lies in them may be somebody's at this moment. */
export async function openFolders(
  { store, records }: GarbageSources,
  server: ServerReferences | null,
): Promise<ReadonlySet<string>> {
  const isBusy = (name: string) => server?.busy.has(name) ?? false;
  const isOpenRun = async (name: string) => {
    const state = await records.readState(name).catch(() => null);
    return isBusy(name) || !state || !isClosed(state);
  };
  const isOpenEval = async (name: string, folder: string) =>
    server ? isBusy(name) : isUnfinished(folder).catch(() => true);
  const found = [
    ...(await foldersWhere(path.join(store, 'runs'), isOpenRun)),
    ...(await foldersWhere(path.join(store, 'evals'), isOpenEval)),
  ];
  return new Set(found);
}

async function foldersWhere(
  parent: string,
  isMeant: (name: string, folder: string) => Promise<boolean>,
): Promise<string[]> {
  const found: string[] = [];
  for (const name of (await namesIn(parent)).filter((each) => !each.startsWith('.'))) {
    const folder = path.join(parent, name);
    if (await isMeant(name, folder)) found.push(folder);
  }
  return found;
}

async function isUnfinished(folder: string): Promise<boolean> {
  const { finished, unfinished, likelihoods } = await listBenchmarks(folder);
  return unfinished.length > 0 || finished.length + likelihoods.length === 0;
}

/** What documents of the store name, as far as they can be read. */
export interface NamedModels {
  /** With the store that names it. */
  readonly models: ReadonlyMap<string, string>;
  /** Why one of them cannot be read, with its path: it may name any model. null where all can. */
  readonly unread: string | null;
}

/** Where a stack keeps runs, or kept them: the store that is looked at may be a copy, or somebody else's. */
export function storesOf(stackFolder: string): string[] {
  const stores = [path.join(stackFolder, 'store'), usualStore(stackFolder)];
  return stores.filter((store) => !store.includes('://') && existsSync(store));
}

/** Models of a training service that anything in these stores names, whatever it is named for. */
export async function modelsOfStores(stores: readonly string[]): Promise<NamedModels> {
  const models = new Map<string, string>();
  let unread: string | null = null;
  const read = (file: string) =>
    readWholeFile(file).catch((error: unknown) => {
      if (!(error instanceof DomainError)) throw error;
      unread = error.message;
      return null;
    });
  for (const store of new Set(stores)) {
    for await (const file of documentsOf(store)) {
      const fresh = [...modelsIn((await read(file)) ?? '')].filter((model) => !models.has(model));
      for (const model of fresh) models.set(model, store);
    }
  }
  return { models, unread };
}

async function* documentsOf(store: string): AsyncGenerator<string> {
  for (const pattern of DOCUMENTS) yield* filesLike(store, pattern);
}

/** A `*` is any name; the last part is the end of one. */
const DOCUMENTS: readonly string[] = [
  'runs/*/.json',
  'runs/*/checkpoints.jsonl',
  'runs/*/controls.jsonl',
  'runs/*/evals/*/*/cell.json',
  'evals/*/.json',
  'evals/*/*/.json',
  'evals/*/*/journal/plan.json',
  'schedules/*/.json',
  'backfills/.json',
];

async function* filesLike(folder: string, pattern: string): AsyncGenerator<string> {
  const [first = '', ...rest] = pattern.split('/');
  if (rest.length === 0) {
    for (const name of await namesIn(folder)) if (name.endsWith(first)) yield path.join(folder, name);
    return;
  }
  const names = first === '*' ? await namesIn(folder) : [first];
  for (const name of names) {
    if (!name.startsWith('.')) yield* filesLike(path.join(folder, name), rest.join('/'));
  }
}
