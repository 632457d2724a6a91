import { realpath } from 'node:fs/promises';
import path from 'node:path';
import { checkAddress, folderOf } from '../engines/local/server/checkpoints/checkpoint-path';
import { neighboursOf } from './find-weights';

/** Where a local engine keeps the checkpoints of one model. */
export interface ModelFolder {
  readonly model: string;
  /** State of the engine: holds `checkpoints/<folder>`. */
  readonly engineFolder: string;
  /** Name of the model's own folder. */
  readonly name: string;
  readonly path: string;
}

/** States of the engines of a data folder, of its demo, and of the one it is the demo of, whether they are there or not. */
export function engineFoldersOf(dataFolder: string): string[] {
  return neighboursOf(path.resolve(dataFolder)).map((neighbour) => path.join(neighbour, 'engine'));
}

/** Folders of a model in those engines. None for what is no model, or is reached by a link. */
export async function findModelFolders(dataFolder: string, model: string): Promise<ModelFolder[]> {
  const name = folderNameOf(model);
  if (name === null) return [];
  const found = engineFoldersOf(dataFolder).map(async (engineFolder) => {
    const own = path.join(engineFolder, 'checkpoints', name);
    return (await isThere(engineFolder, own)) ? [{ model, engineFolder, name, path: own }] : [];
  });
  return (await Promise.all(found)).flat();
}

function folderNameOf(model: string): string | null {
  try {
    return folderOf(checkAddress({ modelId: model, kind: 'weights', name: 'final' }).modelId);
  } catch {
    return null;
  }
}

async function isThere(engineFolder: string, own: string): Promise<boolean> {
  try {
    return (
      (await realpath(own)) === path.join(await realpath(engineFolder), path.relative(engineFolder, own))
    );
  } catch {
    return false;
  }
}
