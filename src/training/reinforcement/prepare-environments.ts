import type { ReinforcementConfig } from '../../config/reinforcement-config';
import type { ToolDeclaration } from '../../core/completion';
import { DomainError } from '../../core/errors';
import type { Tokenizer } from '../../core/tokenizer';
import { findRenderer } from '../../renderers/find-renderer';
import type { EnvironmentDataset } from '../environments/environment-dataset';
import type { PreparedSource } from '../prepare-supervised-data';
import { pluginLossOf } from './derived-loss';
import type { EnvironmentAccess } from './open-environments';
import { openEnvironments, problemsHash } from './open-environments';
import type { TestSetConfig } from './test-set';

interface PrepareAccess extends EnvironmentAccess {
  readonly tokenizerOf: (model: string) => Promise<Tokenizer>;
}

/** Reads the problems once, so that a run without any, or whose model cannot play them, is refused; notes which they are. */
export async function prepareEnvironments(
  access: PrepareAccess,
  config: ReinforcementConfig,
  { renderer, dataFolder }: { readonly renderer: string; readonly dataFolder?: string | undefined },
): Promise<PreparedSource> {
  pluginLossOf(config, await access.loadPlugins(config.plugins));
  const dataset = await openEnvironments(access, config, dataFolder);
  await refuseUselessJudges(access, dataset);
  await refuseUnknownTools(access, dataset, { renderer, model: config.model });
  const test = dataset.test;
  return {
    testSet: test === null ? null : testSetOf(config),
    data: {
      source: dataset.name,
      revision: null,
      contentHash: problemsHash(dataset),
      preparedHash: null,
      trainCount: dataset.length,
      testCount: test?.length ?? 0,
      skippedCount: 0,
      truncatedCount: 0,
    },
  };
}

/** A judge that is not there would be met with the first rollouts drawn. */
async function refuseUselessJudges(
  { judges: access }: EnvironmentAccess,
  { judges = [] }: EnvironmentDataset,
): Promise<void> {
  const models = new Map(judges.map(({ model }) => [JSON.stringify(model), model]));
  for (const model of models.values()) await access?.check(model);
}

/** A format without tools would fail at the first prompt, with the run begun. */
async function refuseUnknownTools(
  { tokenizerOf }: PrepareAccess,
  dataset: EnvironmentDataset,
  { renderer, model }: { readonly renderer: string; readonly model: string },
): Promise<void> {
  const tools = firstTools(dataset);
  if (tools.length === 0) return;
  const found = findRenderer(renderer, await tokenizerOf(model));
  try {
    found.declareTools(tools, '');
  } catch (error) {
    if (!(error instanceof DomainError)) throw error;
    const names = tools.map(({ name }) => name).join(', ');
    const what = `environment: ${dataset.name} gives the model tools (${names}). ${error.message}`;
    throw new DomainError(error.code, what, { cause: error });
  }
}

function firstTools(dataset: EnvironmentDataset): readonly ToolDeclaration[] {
  for (let index = 0; index < dataset.length; index += 1) {
    const { tools = [] } = dataset.groupAt(index);
    if (tools.length > 0) return tools;
  }
  return [];
}

/** What is measured unasked, an environment of `verifiers` as its package measures it. */
function testSetOf({ environment }: ReinforcementConfig): TestSetConfig {
  const base = { type: 'rlTestSet', name: 'environments' } as const;
  if (environment.type !== 'verifiers') return { ...base, groupSize: 1, concurrency: 64 };
  const { rolloutsPerExample: groupSize, maxConcurrent: concurrency } = environment;
  return { ...base, groupSize, concurrency, deviations: true };
}
