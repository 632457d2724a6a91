import path from 'node:path';
import type { WeightsPlace } from '../../client/eval-engine';
import type { Everstep } from '../../client/everstep';
import type { Environment } from '../../config/environment';
import { readEnvironment } from '../../config/environment';
import { DomainError } from '../../core/errors';
import { resolveTemporal } from '../../stack/resolve-temporal';
import { openForReading } from '../connect';
import type { Output } from '../output';
import type { PlaceFlags } from '../service-options';

/** Where an evaluation has to be done; empty for where its command was given. */
export interface EvalHome {
  readonly environment?: Environment;
}

/**
 * Looks for the weights before anything is started: weights of a local engine that is gone are served by a stack on the data
 * folder that has them, e.g. the demo's. Refuses weights that nobody serves, with the remedy.
 */
export async function findHome(
  findPlaces: (everstep: Everstep) => Promise<readonly WeightsPlace[]>,
  flags: PlaceFlags,
  output: Output,
): Promise<EvalHome> {
  const session = await openForReading(flags);
  try {
    const { everstep, environment } = session;
    const places = await findPlaces(everstep);
    refuseNowhere(places, environment, output);
    const folder = onlyFolder(places, environment.dataFolder);
    if (folder === null) return {};
    output.note(`The weights lie with the engine of ${folder}: a stack there asks them.`);
    return { environment: readEnvironment({ dataDir: folder, store: everstep.store }) };
  } finally {
    await session.close();
  }
}

function refuseNowhere(
  places: readonly WeightsPlace[],
  { dataFolder }: Pick<Environment, 'dataFolder'>,
  output: Output,
): void {
  const problem = places.find((place) => place.at === 'nowhere')?.problem;
  if (!problem) return;
  // Workers of a configured server may be elsewhere and reach what this machine does not.
  if (resolveTemporal(dataFolder).from !== 'configuration') throw problem;
  output.note(`Not reached from here; the workers may reach it. ${problem.message}`);
}

/** The one other data folder whose engine has weights that are meant; null where there is none. */
function onlyFolder(places: readonly WeightsPlace[], dataFolder: string): string | null {
  const folders = places.flatMap((place) => (place.at === 'folder' ? [path.resolve(place.dataFolder)] : []));
  const [first, ...others] = new Set(folders);
  if (others.length > 0) {
    throw new DomainError(
      'bad-config',
      `The weights lie with the engines of several data folders: ${[first, ...others].join(', ')}. Give a command for the runs of each.`,
    );
  }
  return first === undefined || first === path.resolve(dataFolder) ? null : first;
}
