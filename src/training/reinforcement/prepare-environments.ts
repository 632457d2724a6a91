import type { ReinforcementConfig } from '../../config/reinforcement-config';
import { countListed } from '../../core/bad-row-list';
import type { ToolDeclaration } from '../../core/completion';
import { DomainError } from '../../core/errors';
import type { Tokenizer } from '../../core/tokenizer';
import { findRenderer } from '../../renderers/find-renderer';
import type { Renderer } from '../../renderers/renderer';
import type { EnvironmentDataset, EnvironmentGroup, LeftOutRow } from '../environments/environment-dataset';
import type { PreparedSource } from '../prepare-supervised-data';
import { boundedWork } from '../rollouts/bounded-work';
import { EnvironmentCalls } from '../rollouts/environment-calls';
import { pluginLossOf } from './derived-loss';
import type { EnvironmentAccess } from './open-environments';
import { openEnvironments, problemsHash } from './open-environments';
import { pluginCodeOf } from './plugin-code';
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
  const plugins = await access.loadPlugins(config.plugins);
  pluginLossOf(config, plugins);
  const dataset = await openEnvironments(access, config, dataFolder);
  await refuseUselessJudges(access, dataset);
  await refuseUnknownTools(access, dataset, { renderer, config });
  const { test, leftOut = [] } = dataset;
  const code = pluginCodeOf(config, plugins);
  return {
    ...(code && { code }),
    remarks: leftOutRemarks(leftOut),
    testSet: test === null ? null : testSetOf(config),
    data: {
      source: dataset.name,
      revision: null,
      contentHash: problemsHash(dataset),
      preparedHash: null,
      trainCount: dataset.length,
      testCount: test?.length ?? 0,
      skippedCount: countListed(leftOut),
      truncatedCount: 0,
    },
  };
}

function leftOutRemarks(leftOut: readonly LeftOutRow[]): string[] {
  const byReason = new Map<string, LeftOutRow[]>();
  for (const row of leftOut) {
    const rows = byReason.get(row.reason);
    if (rows) rows.push(row);
    else byReason.set(row.reason, [row]);
  }
  return [...byReason].flatMap(([reason, rows]) => {
    const [first] = rows;
    const count = countListed(rows);
    const many = count === 1 ? '1 row is' : `${count} rows are`;
    return first ? [`environment: ${many} left out, the first, ${first.place.text}, because ${reason}`] : [];
  });
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
  { renderer, config }: { readonly renderer: string; readonly config: ReinforcementConfig },
): Promise<void> {
  const groups = groupsWithTools(dataset);
  if (groups.length === 0) return;
  const tokenizer = await tokenizerOf(config.model);
  const refusal = refusalOfTools(findRenderer(renderer, tokenizer, config.templateArguments));
  if (refusal === null) return;
  for (const group of groups) {
    const tools = group.tools ?? (await toolsOnOpening(group));
    if (tools.length === 0) continue;
    const names = tools.map(({ name }) => name).join(', ');
    const what = `environment: ${dataset.name} gives the model tools (${names}). ${refusal.message}`;
    throw new DomainError(refusal.code, what, { cause: refusal });
  }
}

/** Declared to the format alone: no model ever reads it. */
const ANY_TOOL = { name: 'any', description: 'Any', parameters: { type: 'object', properties: {} } };

function refusalOfTools(renderer: Renderer): DomainError | null {
  try {
    renderer.declareTools([ANY_TOOL], '');
    return null;
  } catch (error) {
    if (error instanceof DomainError) return error;
    throw error;
  }
}

const MOST_KINDS = 16;

/** One problem of each kind that has tools, or may have some that its environment alone knows. */
function groupsWithTools(dataset: EnvironmentDataset): EnvironmentGroup[] {
  const kinds = new Map<string, EnvironmentGroup>();
  for (const part of [dataset, ...(dataset.test ? [dataset.test] : [])]) {
    for (let index = 0; index < part.length && kinds.size < MOST_KINDS; index += 1) {
      const group = part.groupAt(index);
      const kind = group.tags.join('\n');
      if ((group.tools || group.hasHiddenTools) && !kinds.has(kind)) kinds.set(kind, group);
    }
  }
  return [...kinds.values()];
}

const OPENING_MS = 30_000;

/** What goes wrong on the way is met again by the rollout that it costs. */
async function toolsOnOpening(group: EnvironmentGroup): Promise<readonly ToolDeclaration[]> {
  const { signal } = new AbortController();
  const late = () => new Error('late');
  const open = async (inner: AbortSignal) => {
    const bounds = { maxToolCalls: null, toolExecution: 'parallel', signal: inner } as const;
    const environment = group.make(0, bounds);
    const calls = new EnvironmentCalls(environment, OPENING_MS / 1000);
    try {
      return await calls.observe(inner);
    } finally {
      await calls.close();
    }
  };
  const observed = await boundedWork(open, { signal, timeoutMs: OPENING_MS, late }).catch(() => null);
  return observed?.tools ?? [];
}

/** What is measured unasked, an environment of `verifiers` as its package measures it. */
function testSetOf({ environment }: ReinforcementConfig): TestSetConfig {
  const base = { type: 'rlTestSet', name: 'environments' } as const;
  if (environment.type !== 'verifiers') return { ...base, groupSize: 1, concurrency: 64 };
  const { rolloutsPerExample: groupSize, maxConcurrent: concurrency } = environment;
  return { ...base, groupSize, concurrency, deviations: true };
}
