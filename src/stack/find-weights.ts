import { stat } from 'node:fs/promises';
import path from 'node:path';
import { folderOf, parseCheckpointPath } from '../engines/local/server/checkpoints/checkpoint-path';

/** The demo's stack has a data folder of its own inside the one it was started for. */
const DEMO = 'demo';

/**
 * The data folder whose engine has a checkpoint on its disk: the one given, that of its demo, or the one it is the demo of;
 * null where none of them has it.
 */
export async function findWeightsFolder(dataFolder: string, checkpoint: string): Promise<string | null> {
  for (const folder of neighboursOf(path.resolve(dataFolder))) {
    if (await holdsWeights(folder, checkpoint)) return folder;
  }
  return null;
}

/** Data folders whose stacks may share a store, the one given first. */
export function neighboursOf(dataFolder: string): string[] {
  const parent = path.dirname(dataFolder);
  const isDemo = path.basename(dataFolder) === DEMO;
  return [dataFolder, path.join(dataFolder, DEMO), ...(isDemo ? [parent] : [])];
}

/** Whether the engine of a data folder has a checkpoint, as the engine itself would see it when it starts. */
async function holdsWeights(dataFolder: string, checkpoint: string): Promise<boolean> {
  const place = placeOf(checkpoint);
  if (place === null) return false;
  try {
    return (await stat(path.join(dataFolder, 'engine', 'checkpoints', place, 'meta.json'))).isFile();
  } catch {
    return false;
  }
}

/** null for a URI that no engine of ours gave. */
function placeOf(checkpoint: string): string | null {
  try {
    const { modelId, kind, name } = parseCheckpointPath(checkpoint);
    return path.join(folderOf(modelId), kind, name);
  } catch {
    return null;
  }
}
