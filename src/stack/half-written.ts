import { lstatSync, readdirSync, rmSync } from 'node:fs';
import path from 'node:path';
import { stackPlaces } from './stack-record';

/** Records and locks beside their places, until they are moved or linked there. */
const BESIDE =
  /^(?:stack\.json|dev\.lock|temporal\.db\.(?:lock|place)|\d+)\.[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}(?:\.new)?$/;
/** Whoever writes one moves it at once. */
const AT_ONCE_MS = 60_000;

/** Removes the records and locks of processes that were killed while they wrote them: nobody else knows their names. */
export function removeHalfWritten(dataFolder: string): void {
  for (const folder of [dataFolder, stackPlaces(dataFolder).clients]) {
    for (const name of namesIn(folder)) {
      const file = path.join(folder, name);
      const stats = lstatSync(file, { throwIfNoEntry: false });
      if (stats?.isFile() === true && Date.now() - stats.mtimeMs > AT_ONCE_MS) rmSync(file, { force: true });
    }
  }
}

function namesIn(folder: string): string[] {
  if (lstatSync(folder, { throwIfNoEntry: false })?.isDirectory() !== true) return [];
  return readdirSync(folder).filter((name) => BESIDE.test(name));
}
