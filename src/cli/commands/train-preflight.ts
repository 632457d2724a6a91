import { checkTraining } from '../../client/check-training';
import { probeEngine } from '../../client/probe-engine';
import type { ServiceFacts } from '../../client/check-service';
import { checkService } from '../../client/check-service';
import { isClosed } from '../../client/run-report';
import { readEnvironment } from '../../config/environment';
import { loadTrainingConfig } from '../../config/load-config';
import { parseTrainingConfig } from '../../config/parse-training-config';
import type { TrainingConfig } from '../../config/training-config';
import { DomainError } from '../../core/errors';
import { resolveTemporal } from '../../stack/resolve-temporal';
import { openForReading } from '../connect';
import { engineLines } from '../engine-lines';
import type { Output } from '../output';
import type { PlaceFlags } from '../service-options';
import type { ChosenEngine } from './train-engine';
import { chooseEngine, requireKey } from './train-engine';

export interface TrainRequest extends PlaceFlags {
  readonly file: string | undefined;
  readonly run?: string;
  readonly set?: readonly string[];
  readonly forceNew?: boolean;
  readonly continue?: boolean;
  readonly engine?: string;
}

interface CheckedRequest {
  /** null: go on with `--run`. */
  readonly config: TrainingConfig | null;
  /** The run exists and keeps its own engine, and waits for it by itself. */
  readonly isUnderWay: boolean;
}

interface CheckedConfig {
  readonly config: TrainingConfig;
  readonly chosen: ChosenEngine | null;
}

/**
 * Refuses everything that can be seen to be wrong before anything is started, and tells which service will be used and at what
 * prices.
 */
export async function checkRequest(request: TrainRequest, output: Output): Promise<CheckedRequest> {
  const checked = await checkConfig(request);
  const { run, forceNew = false } = request;
  if (request.continue) return { config: null, isUnderWay: true };
  const isUnderWay = run !== undefined && !forceNew && (await findUnderWay(request, run));
  if (checked && !isUnderWay) {
    await checkStored(checked.config, request);
    await tellEngine(checked, request, output);
  }
  return { config: checked?.config ?? null, isUnderWay };
}

/** What the config names of other runs. */
async function checkStored(
  config: TrainingConfig,
  { run, ...flags }: PlaceFlags & Pick<TrainRequest, 'run'>,
): Promise<void> {
  const session = await openForReading(flags);
  try {
    await session.everstep.checkCheckpoints(config, run);
  } finally {
    await session.close();
  }
}

async function tellEngine(
  { chosen, config }: CheckedConfig,
  request: TrainRequest,
  output: Output,
): Promise<void> {
  if (!chosen) return;
  const server = await checkEngine(chosen, { config, request, output });
  for (const line of engineLines({ ...chosen, server }, config)) output.note(line);
}

async function checkConfig(request: TrainRequest): Promise<CheckedConfig | null> {
  const { file, run, forceNew = false, set = [], engine } = request;
  if (file === undefined) {
    if (run !== undefined && !forceNew) return null;
    throw new DomainError('bad-config', 'Give a config file, or --run NAME to go on with a run.');
  }
  const environment = readEnvironment(request);
  const written = await loadTrainingConfig({ file, overrides: set });
  const chosen = chooseEngine({ flag: engine, config: written, environment });
  if (chosen) requireKey(chosen.url, environment);
  const config = chosen ? withEngine(written, chosen.url) : written;
  await checkTraining(config, environment.cacheFolder);
  return { config, chosen };
}

function withEngine(config: TrainingConfig, url: string): TrainingConfig {
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

interface EngineCheck {
  readonly config: TrainingConfig;
  readonly request: TrainRequest;
  readonly output: Output;
}

/**
 * What the service is; null where it gives no answer that helps. Workers of a configured server may be elsewhere and reach what this
 * machine does not, with a key that it does not have.
 */
async function checkEngine(
  { url }: ChosenEngine,
  { config, request, output }: EngineCheck,
): Promise<ServiceFacts['server'] | null> {
  const { dataFolder, engineApiKey } = readEnvironment(request);
  const hasOtherWorkers = resolveTemporal(dataFolder).from === 'configuration';
  try {
    await probeEngine(url);
  } catch (error) {
    if (!(error instanceof DomainError) || !hasOtherWorkers) throw error;
    output.note(`Not reached from here; the workers may reach it. ${error.message}`);
    return null;
  }
  try {
    return (await checkService({ url, apiKey: engineApiKey, config })).server;
  } catch (error) {
    const remark = remarkOn(error, hasOtherWorkers);
    if (remark === null) throw error;
    output.note(remark);
    return null;
  }
}

/** What a run may begin in spite of; null for what it would fail with. */
function remarkOn(error: unknown, hasOtherWorkers: boolean): string | null {
  if (!(error instanceof DomainError)) return null;
  if (error.code === 'unreachable')
    return `It gives no answer for now; the run waits for it. ${error.message}`;
  const isTheirs = error.code === 'unauthorized' && hasOtherWorkers;
  return isTheirs ? `The workers may have a key that this machine does not. ${error.message}` : null;
}
