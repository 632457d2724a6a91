import { existsSync, statSync } from 'node:fs';
import path from 'node:path';
import { readPlainFile } from './plain-file';

/** What `stack.json` says of places; releases before did not write the data folder. */
interface RememberedPlaces {
  readonly store: string;
  readonly dataFolder: string | null;
  /** Its port is chosen anew for each data folder, and kept there. */
  readonly engineUrl: string | null;
}

/**
 * Where runs are kept unless somebody says it: a stack that was given another store keeps it, as its runs are there.
 *
 * A data folder that was copied or moved brings its record along. The default place of the folder it was written in is
 * not followed: two servers would work on the same runs.
 */
export function usualStore(dataFolder: string): string {
  const own = path.join(dataFolder, 'store');
  const places = readPlaces(dataFolder);
  if (places === null || isDefaultElsewhere(places, dataFolder)) return own;
  return places.store;
}

/** Whether two names are those of one folder. One that is not there is no other's. */
export function isSameFolder(left: string, right: string): boolean {
  if (path.resolve(left) === path.resolve(right)) return true;
  const [one, other] = [left, right].map((folder) => lookAt(folder));
  return one != null && other != null && one.ino === other.ino && one.dev === other.dev;
}

function isDefaultElsewhere({ store, ...places }: RememberedPlaces, dataFolder: string): boolean {
  const writtenIn = path.dirname(store);
  if (path.basename(store) !== 'store' || isSameFolder(writtenIn, dataFolder)) return false;
  if (places.dataFolder !== null) return path.resolve(places.dataFolder) === writtenIn;
  if (lookAt(writtenIn) === null) return existsSync(path.join(dataFolder, 'store'));
  return places.engineUrl !== null && readPlaces(writtenIn)?.engineUrl === places.engineUrl;
}

function readPlaces(dataFolder: string): RememberedPlaces | null {
  try {
    const record: unknown = JSON.parse(readPlainFile(path.join(dataFolder, 'stack.json')));
    if (typeof record !== 'object' || record === null) return null;
    const fields = new Map<string, unknown>(Object.entries(record));
    const text = (key: string): string | null => {
      const value = fields.get(key);
      return typeof value === 'string' && value !== '' ? value : null;
    };
    const store = text('store');
    return store === null ? null : { store, dataFolder: text('dataFolder'), engineUrl: text('engineUrl') };
  } catch {
    return null;
  }
}

function lookAt(folder: string) {
  return statSync(folder, { bigint: true, throwIfNoEntry: false }) ?? null;
}
