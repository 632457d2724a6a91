import { stripEnd } from '../core/strip-ends';
import type { BenchmarkConfig } from '../config/benchmark-config';
import { refuseKeyInAddress } from '../config/engine-address';
import type { EngineSource, ModelSource } from '../core/benchmark-run';
import { DomainError } from '../core/errors';
import { isOfficialService, OFFICIAL_SERVICE } from '../core/official-service';
import { secretParameterOf } from '../core/secret-parameters';
import { withFormat } from '../core/source-format';
import type { CheckpointRow } from '../core/run';
import { readCheckpointName } from '../stores/checkpoint-name';
import { sampledSteps, stateOf } from '../stores/sampled-steps';
import { savedWeights } from '../training/checkpoint-source';
import type { RunRecord } from '../training/run-folder';
import type { RunRecords } from './run-records';
import { requireRunOf } from './unknown-run';

type Asked = Pick<
  BenchmarkConfig,
  'model' | 'endpoint' | 'api' | 'checkpoint' | 'engine' | 'renderer' | 'templateArguments'
>;

/** A checkpoint of one of our runs. */
export interface RunCheckpoint {
  readonly run: string;
  readonly row: CheckpointRow;
  readonly samplerPath: string;
}

/** Which model is meant. Refuses what names none, or several. */
export async function findSource(asked: Asked, records: RunRecords): Promise<ModelSource> {
  const { model, endpoint, api, checkpoint, engine } = asked;
  if (endpoint !== undefined) {
    if (checkpoint !== undefined || engine !== undefined) throw notOne('endpoint with checkpoint or engine');
    refuseUser(endpoint);
    return { type: 'endpoint', url: endpoint, api, model: requireModel(model, 'an endpoint') };
  }
  if (checkpoint !== undefined) {
    const source = checkpoint.includes('://')
      ? sourceOfPath(checkpoint, requireModel(model, 'a checkpoint by its URI'))
      : await sourceOfRun(checkpoint, asked, records);
    return withChoices(source, asked);
  }
  if (engine === undefined) throw notOne('none of them');
  const base = { type: 'engine', model: requireModel(model, 'an engine'), path: null, label: null } as const;
  return withChoices(base, asked);
}

/** RUN@STEP, RUN@best, or RUN for its newest checkpoint with sampler weights. Refuses a step whose weights are in no checkpoint. */
export async function findRunCheckpoint(text: string, records: RunRecords): Promise<RunCheckpoint> {
  const { run, row, samplerPath } = await findWeights(text, records);
  if (samplerPath !== null) return { run, row, samplerPath };
  throw new DomainError(
    'bad-config',
    `--checkpoint ${text}: run "${run}" has no sampler weights of step ${row.step}, only its model from before training. Choose a later step.`,
  );
}

/** `samplerPath` is null for the base model. */
type StepWeights = Omit<RunCheckpoint, 'samplerPath'> & { readonly samplerPath: string | null };

async function findWeights(text: string, records: RunRecords): Promise<StepWeights> {
  try {
    return await lookUpWeights(text, records);
  } catch (error) {
    if (error instanceof DomainError && error.code === 'unknown-run')
      await requireRunOf(text, records, '--checkpoint');
    throw error;
  }
}

async function lookUpWeights(text: string, records: RunRecords): Promise<StepWeights> {
  const { run, step } = await readCheckpointName(text, records);
  const record = await records.readConfig<RunRecord>(run);
  const rows = await records.readCheckpoints(run);
  const sampled = rows.filter(({ sampler_path }) => sampler_path !== null);
  const row = step === null ? sampled.at(-1) : sampled.findLast((each) => each.step === step);
  if (row) return { run, row, samplerPath: row.sampler_path };
  const untrained = step === null ? null : stateOf(rows, step, record);
  if (untrained) return { run, ...untrained };
  const known = sampledSteps(rows, record).join(', ') || 'none yet';
  throw new DomainError(
    'bad-config',
    `--checkpoint ${text}: run "${run}" has no weights${step === null ? ' of a later step' : ` of step ${step}`} that can be sampled. Steps with some: ${known}.`,
  );
}

async function sourceOfRun(text: string, asked: Asked, records: RunRecords): Promise<EngineSource> {
  const { run, row, samplerPath } = await findWeights(text, records);
  const record = await records.readConfig<RunRecord>(run);
  const { config } = record;
  if (asked.model !== undefined && asked.model !== config.model) {
    throw new DomainError(
      'bad-config',
      `--model ${asked.model}: run "${run}" trained ${config.model}. Leave --model out.`,
    );
  }
  return savedWeights(record, { run, row, path: samplerPath });
}

function sourceOfPath(path: string, model: string): EngineSource {
  return { type: 'engine', model, path, label: null };
}

function withChoices(source: EngineSource, asked: Asked): EngineSource {
  const { engine } = asked;
  return withFormat({ ...source, ...(engine !== undefined && { url: engineUrl(engine) }) }, asked);
}

function engineUrl(engine: string): string {
  if (engine === 'tinker') return OFFICIAL_SERVICE;
  refuseKeyInAddress('--engine', engine);
  if (URL.canParse(engine) || isOfficialService(engine)) return stripEnd(engine, '/');
  throw new DomainError('bad-config', `--engine ${engine}: give an address such as http://127.0.0.1:8000.`);
}

function requireModel(model: string | undefined, what: string): string {
  if (model !== undefined) return model;
  throw new DomainError('bad-config', `--model is missing: ${what} does not say what its model is called.`);
}

function refuseUser(endpoint: string): void {
  const url = new URL(endpoint);
  const secret = secretParameterOf(endpoint);
  if (url.username === '' && url.password === '' && secret === null) return;
  const what = secret === null ? 'a user or a password' : `a key (its parameter ${secret})`;
  throw new DomainError(
    'bad-config',
    `--endpoint: the address at ${url.host} holds ${what}, and addresses are stored. Give the key as OPENAI_API_KEY where the workers run.`,
  );
}

function notOne(found: string): DomainError {
  return new DomainError(
    'bad-config',
    `Give one model: --endpoint URL, --checkpoint RUN[@STEP] or tinker://…, or --engine URL. Given: ${found}.`,
  );
}
