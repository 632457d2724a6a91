import path from 'node:path';
import { readEnvironment } from '../config/environment';
import { isOfficialService } from '../core/official-service';
import type { EngineSource, ModelSource } from '../core/benchmark-run';
import { DomainError } from '../core/errors';
import { findWeightsFolder } from '../stack/find-weights';
import { resolveTemporal } from '../stack/resolve-temporal';
import { findStack } from '../stack/stack-record';
import { hasCheckpoint, probeEngine } from './probe-engine';

/** Where weights can be sampled. */
export type WeightsPlace =
  /** At the service that the source names, or the one that the workers know. */
  | { readonly at: 'service' }
  /** At the engine of a data folder, which has them on its disk. */
  | { readonly at: 'folder'; readonly dataFolder: string }
  | { readonly at: 'nowhere'; readonly problem: DomainError };

/** Where it is looked from. */
export interface WeightsView {
  /** State folder of the stack. */
  readonly dataFolder: string;
  /** A person named the service, and means no other. */
  readonly isEngineNamed?: boolean;
}

/**
 * Finds the engine that has the weights of a source: the service it names, if that answers and has them, else the engine of
 * this data folder or of its demo, whose checkpoints outlive the process that wrote them.
 */
export async function placeWeights(
  source: EngineSource,
  { dataFolder, isEngineNamed = false }: WeightsView,
): Promise<WeightsPlace> {
  const { url } = source;
  const problem = await problemAt(url);
  const checkpoint = isEngineNamed ? null : checkpointOfOurs(source, dataFolder);
  if (checkpoint !== null && (problem !== null || !(await isServed(url, checkpoint)))) {
    const folder = await findWeightsFolder(dataFolder, checkpoint);
    if (folder !== null) return { at: 'folder', dataFolder: folder };
  }
  return problem === null ? { at: 'service' } : { at: 'nowhere', problem: withRemedy(problem, source) };
}

/** A checkpoint that an engine on this machine may have on its disk; null where it is none. */
function checkpointOfOurs({ url, path: checkpoint }: EngineSource, dataFolder: string): string | null {
  if (url !== undefined && !isLoopback(url)) return null;
  // A configured server has workers elsewhere, with another disk.
  return resolveTemporal(dataFolder).from === 'configuration' ? null : checkpoint;
}

/** Another engine may have taken over the address since; without one the workers' own is meant. */
async function isServed(url: string | undefined, checkpoint: string): Promise<boolean> {
  return url !== undefined && (await hasCheckpoint(url, checkpoint)) !== false;
}

/** The source as workers on this data folder are to ask it. Refuses weights that only another data folder's engine has. */
export async function sourceAtHand(source: ModelSource, view: WeightsView): Promise<ModelSource> {
  return source.type === 'endpoint' ? source : engineAtHand(source, view);
}

export async function engineAtHand(source: EngineSource, view: WeightsView): Promise<EngineSource> {
  const { dataFolder } = view;
  if (source.path === null) return source;
  const place = await placeWeights(source, view);
  if (place.at !== 'folder') return source;
  if (path.resolve(place.dataFolder) !== path.resolve(dataFolder)) {
    throw new DomainError(
      'refused',
      `The weights of ${source.label ?? source.path} lie with the engine of ${place.dataFolder}. Connect with that data folder (--data-dir).`,
    );
  }
  // Workers ask the engine of their stack where nothing else is named; TINKER_BASE_URL names something else.
  const own = readEnvironment().engineUrl === null ? undefined : findStack(dataFolder)?.engineUrl;
  const placed: EngineSource = { ...source, ...(own !== undefined && { url: own }) };
  if (own === undefined) Reflect.deleteProperty(placed, 'url');
  return placed;
}

/** Why the service that a source names cannot be asked; null where it answers, or where none is named. */
async function problemAt(url: string | undefined): Promise<DomainError | null> {
  if (url === undefined) return null;
  try {
    await probeEngine(url);
    return null;
  } catch (error) {
    if (error instanceof DomainError) return error;
    throw error;
  }
}

function withRemedy(problem: DomainError, { label, path: checkpoint, url }: EngineSource): DomainError {
  const what = label ?? checkpoint;
  const problemText = problem.message.replace(/^engine\.url: n/, 'N').replace(/ Start it, or name.*$/, '');
  if (what === null) {
    return new DomainError('refused', `${problemText} Start it, or name another one with --engine URL.`, {
      cause: problem,
    });
  }
  const start =
    url !== undefined && isOfficialService(url)
      ? 'Try again later'
      : 'Start the service that has them (its engine alone, or `npx everstep dev`) with the --data-dir of the run';
  return new DomainError(
    'refused',
    `${problemText} It has the weights of ${what}. ${start}, or name the service with --engine URL.`,
    { cause: problem },
  );
}

function isLoopback(url: string): boolean {
  if (!URL.canParse(url)) return false;
  const { hostname } = new URL(url);
  return hostname === 'localhost' || hostname === '[::1]' || hostname.startsWith('127.');
}
