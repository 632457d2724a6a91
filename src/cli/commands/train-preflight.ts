import { checkTraining } from '../../client/check-training';
import { probeEngine } from '../../client/probe-engine';
import { isClosed } from '../../client/run-report';
import { readEnvironment } from '../../config/environment';
import { loadTrainingConfig, parseTrainingConfig } from '../../config/load-config';
import type { SupervisedConfig } from '../../config/supervised-config';
import { DomainError } from '../../core/errors';
import { resolveTemporal } from '../../stack/resolve-temporal';
import { openForReading } from '../connect';
import type { Output } from '../output';
import type { PlaceFlags } from '../service-options';
import { chooseEngine, requireKey } from './train-engine';

export interface TrainRequest extends PlaceFlags {
  readonly file: string | undefined;
  readonly run?: string;
  readonly set?: readonly string[];
  readonly forceNew?: boolean;
  readonly engine?: string;
}

/** Refuses everything that can be seen to be wrong before anything is started. Null: go on with `--run`. */
export async function checkRequest(request: TrainRequest, output: Output): Promise<SupervisedConfig | null> {
  const config = await checkConfig(request);
  const { run, forceNew = false } = request;
  const isUnderWay = run !== undefined && !forceNew && (await findUnderWay(request, run));
  // A run that is attached to keeps its own engine, and waits for it by itself.
  if (typeof config?.engine.url === 'string' && !isUnderWay)
    await checkEngine(config.engine.url, request, output);
  return config;
}

async function checkConfig(request: TrainRequest): Promise<SupervisedConfig | null> {
  const { file, run, forceNew = false, set = [], engine } = request;
  if (file === undefined) {
    if (run !== undefined && !forceNew) return null;
    throw new DomainError('bad-config', 'Give a config file, or --run NAME to go on with a run.');
  }
  const environment = readEnvironment(request);
  const written = await loadTrainingConfig({ file, overrides: set });
  const url = chooseEngine({ flag: engine, config: written, environment });
  if (url !== null) requireKey(url, environment);
  const config = url === null ? written : withEngine(written, url);
  await checkTraining(config, environment.cacheFolder);
  return config;
}

function withEngine(config: SupervisedConfig, url: string): SupervisedConfig {
  return parseTrainingConfig({ ...config, engine: { ...config.engine, url } }, 'The engine chosen');
}

/** A stack would be started only to find out that the run has ended. */
async function findUnderWay(flags: PlaceFlags, run: string): Promise<boolean> {
  const session = await openForReading(flags);
  try {
    await session.everstep.refuseEnded(run);
    const report = await session.everstep.run(run).find();
    return report !== null && !isClosed(report);
  } finally {
    await session.close();
  }
}

/** Workers of a configured server may be elsewhere and reach what this machine does not. */
async function checkEngine(url: string, flags: PlaceFlags, output: Output): Promise<void> {
  try {
    await probeEngine(url);
  } catch (error) {
    const { dataFolder } = readEnvironment(flags);
    if (!(error instanceof DomainError) || resolveTemporal(dataFolder).from !== 'configuration') throw error;
    output.note(`Not reached from here; the workers may reach it. ${error.message}`);
  }
}
