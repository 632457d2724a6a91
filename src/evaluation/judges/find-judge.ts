import { stripEnd } from '../../core/strip-ends';
import type { JudgeConfig } from '../../config/judge-config';
import type { CellRejudging, EngineSource, JudgeSource, ModelSource } from '../../core/benchmark-run';
import { DomainError } from '../../core/errors';
import { withFormat } from '../../core/source-format';
import type { Grader } from '../graders/grader';
import type { JudgeAccess } from './judge-access';
import { judgeSourcesOf } from './judge-sources';
import { needsJudge } from './judged-grader';

interface JudgeDependencies {
  readonly judges?: JudgeAccess | undefined;
  readonly rejudging?: CellRejudging | undefined;
}

/** Judges of an evaluator's config, as this worker reaches them, or those who judge again; none for graders that ask none. */
export async function requireJudges(
  grader: Grader,
  configs: readonly JudgeConfig[] | undefined,
  { judges: access, rejudging }: JudgeDependencies,
): Promise<readonly JudgeSource[] | undefined> {
  if (!grader.judging) return undefined;
  if (rejudging) return rejudging.judges;
  if (!configs || !access) throw needsJudge(grader.name);
  return sourcesOf(configs, (config) => {
    checkJudges({ name: config.model ?? '', judge: [config] });
    return findModel(config, access);
  });
}

/** The model that a run trains, at its training service. */
export type OwnModel = Pick<EngineSource, 'model' | 'url' | 'profile' | 'renderer' | 'templateArguments'>;

/** How a judge is called that is the run's own model, as it was before training. */
const BASE = 'base';

/**
 * Judges of what a run is trained on: the same as long as it trains, so that a checkpoint has its step. Without a place a judge
 * is a base model of the run's own training service; `base` is the one that the run trains.
 */
export async function findRewardJudges(
  configs: readonly JudgeConfig[],
  access: JudgeAccess,
  own: OwnModel,
): Promise<readonly JudgeSource[]> {
  return sourcesOf(configs, async (config) => {
    const { model } = config;
    if (placesOf(config).length === 0 && model !== undefined) return ownService(own, config, model);
    const problem = problemOf(config);
    if (problem !== null) throw new DomainError('bad-config', `environment.judge: ${problem}`);
    return findModel(config, {
      findCheckpoint: (text) => findStep(text, 'environment.judge.checkpoint', access.findCheckpoint),
    });
  });
}

/**
 * The checkpoint that `key` names. Refuses the newest one of a run, and its best, whether or not there is one: what rewards are
 * made with may not change while another trains.
 */
export async function findStep(
  checkpoint: string,
  key: string,
  find: (checkpoint: string) => Promise<EngineSource>,
): Promise<EngineSource> {
  if (checkpoint.includes('://') || /@\d+$/.test(checkpoint)) return find(checkpoint);
  const now = await labelNow(checkpoint, find);
  const remedy = now === null ? 'Give RUN@STEP.' : `Give ${now}, which it is now.`;
  throw new DomainError(
    'bad-config',
    `${key}: "${checkpoint}" has no step, and what rewards are made with may not change while a run trains. ${remedy}`,
  );
}

async function labelNow(
  checkpoint: string,
  find: (checkpoint: string) => Promise<EngineSource>,
): Promise<string | null> {
  try {
    return (await find(checkpoint)).label;
  } catch (error) {
    if (error instanceof DomainError) return null;
    throw error;
  }
}

function ownService(own: OwnModel, asked: JudgeConfig, name: string): EngineSource {
  const model = name === BASE ? own.model : name;
  const { url, profile } = own;
  const source: EngineSource = {
    ...{ type: 'engine', model, path: null, label: null },
    ...(url !== undefined && { url }),
    ...(profile && { profile }),
  };
  return withFormat(model === own.model ? { ...source, ...own } : source, asked);
}

async function sourcesOf(
  configs: readonly JudgeConfig[],
  find: (config: JudgeConfig) => Promise<ModelSource>,
): Promise<readonly JudgeSource[]> {
  const judges = await Promise.all(configs.map(async (config) => judgeSourcesOf(config, await find(config))));
  return judges.flat();
}

/** Refuses judges that say nothing of where they are, or too much. */
export function checkJudges({
  name,
  judge,
}: {
  readonly name: string;
  readonly judge: readonly JudgeConfig[];
}): void {
  for (const config of judge) {
    const problem = problemOf(config);
    if (problem !== null) throw new DomainError('bad-config', `evaluators: judge of "${name}": ${problem}`);
  }
}

function placesOf({ endpoint, checkpoint, engine }: JudgeConfig): string[] {
  return [endpoint, checkpoint, engine].filter((place) => place !== undefined);
}

function problemOf(config: JudgeConfig): string | null {
  const { endpoint, checkpoint, model } = config;
  const placeCount = placesOf(config).length;
  if (endpoint !== undefined && placeCount > 1) return 'give an endpoint, or a checkpoint of an engine.';
  if (placeCount === 0) return 'nothing says where it is. Give endpoint, checkpoint or engine.';
  const isNamed = model !== undefined || (checkpoint !== undefined && !checkpoint.includes('://'));
  return isNamed ? null : 'give "model", as the endpoint or engine calls it.';
}

async function findModel(
  config: JudgeConfig,
  access: Pick<JudgeAccess, 'findCheckpoint'>,
): Promise<ModelSource> {
  const { model = '', endpoint, api, checkpoint, engine } = config;
  if (endpoint !== undefined) return { type: 'endpoint', url: endpoint, api, model };
  const place = engine === undefined ? {} : { url: stripEnd(engine, '/') };
  const isPath = checkpoint === undefined || checkpoint.includes('://');
  const source: EngineSource = isPath
    ? { type: 'engine', model, path: checkpoint ?? null, label: null }
    : await access.findCheckpoint(checkpoint);
  return withFormat({ ...source, ...place }, config);
}
