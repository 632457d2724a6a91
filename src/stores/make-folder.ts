import { existsSync, mkdirSync, realpathSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { dirname, join, relative, resolve, sep } from 'node:path';
import { DomainError } from '../core/errors';
import { shellWord } from '../core/shell-word';
import { requireNoLinksOnWay } from './plain-folders';

/** Stores that this process has opened. */
const stores = new Set<string>();
/** With these a run begins; its owner's name comes first. */
const FIRST_FILES: readonly string[] = ['owner.json', 'config.json'];

/** From now on the folders of this store's runs are made by nothing but what a run begins with. */
export function keepRunFolders(root: string): void {
  stores.add(resolve(root));
  // Others may name the same one by the place it leads to.
  if (existsSync(root)) stores.add(realpathSync(root));
}

/**
 * Makes the folder that a file goes into, and those above it. That of a run in an opened store is not made anew: where it was taken away, what
 * is written would lie where nobody reads, and in the way of who puts it back. Then `unreachable` is thrown, which is waited out. A link
 * beneath such a store is `refused`.
 */
export async function makeFolderOf(path: string): Promise<string | undefined> {
  refuseElsewhere(path);
  return mkdir(dirname(path), { recursive: true });
}

export function makeFolderOfSync(path: string): void {
  refuseElsewhere(path);
  mkdirSync(dirname(path), { recursive: true });
}

/** What is told where a worker does not see a run's folder. */
export function runIsAway(root: string, run: string): DomainError {
  return new DomainError(
    'unreachable',
    `This worker's store ${root} has no run "${run}". Start the worker with the --store the run was started with; ` +
      `if its folder was deleted, put it back, or end the run with \`everstep runs cancel ${shellWord(run)}\`.`,
    { retryable: true },
  );
}

function refuseElsewhere(path: string): void {
  const target = resolve(path);
  for (const root of stores) {
    const [folder, run, ...inRun] = relative(root, target).split(sep);
    if (folder !== '..') requireNoLinksOnWay(root, target);
    if (folder !== 'runs' || run === undefined || inRun.length === 0) continue;
    const isFirst = inRun.length === 1 && FIRST_FILES.includes(inRun[0] ?? '');
    if (!isFirst && !existsSync(join(root, folder, run))) throw runIsAway(root, run);
  }
}
