import type { Client, WorkflowHandle } from '@temporalio/client';
import { defaultPayloadConverter } from '@temporalio/common';
import type * as TrainingConfigs from '../config/parse-training-config';
import type { TrainingConfig } from '../config/training-config';
import { DomainError } from '../core/errors';
import type { ConfigDifference } from './config-differences';
import { configDifferences, configValueText } from './config-differences';
import type { RunRecords } from './run-records';
import { workflowIdOf } from './workflow-answers';

const MOST_SHOWN = 5;
/** What `runs set` takes under the name and in the words of the config. */
const SETTABLE = /^(?:learningRate|evalEvery|infrequentEvalEvery|budget\..+)$/;

/**
 * Refuses another config than the run under way was started with, naming what differs: whoever gave it would follow a run that is not
 * the one they asked for. That of a run which is still being prepared is told by the server.
 */
export async function requireSameConfig(
  { records, client }: { readonly records: RunRecords; readonly client: Client },
  run: string,
  asked: TrainingConfig,
): Promise<void> {
  const there = (await storedConfig(records, run)) ?? (await startedConfig(client, run));
  if (there === null) return;
  const differences = configDifferences(there, asked);
  if (differences.length === 0) return;
  const shown = differencesShown(differences, 'asked').join(', ');
  throw new DomainError(
    'refused',
    `Run "${run}" is under way with another config: ${shown}. Follow it as it is with --attach, ` +
      `${changeAdvice(run, differences)}or give the new run another --run NAME.`,
  );
}

/** What differs between the config of the store and that which the server was given; none where it has none of it any more. */
export async function editsOf(client: Client, run: string, stored: object): Promise<readonly string[]> {
  const started = await startedConfig(client, run).catch(() => null);
  return started === null ? [] : differencesShown(configDifferences(started, stored), 'now');
}

/** `learningRate 0.001 (asked: 0.002)` */
function differencesShown(differences: readonly ConfigDifference[], word: 'asked' | 'now'): string[] {
  const shown = differences
    .slice(0, MOST_SHOWN)
    .map(({ key, a, b }) => `${key} ${configValueText(a)} (${word}: ${configValueText(b)})`);
  const more = differences.length - shown.length;
  return more > 0 ? [...shown, `and ${more} more`] : shown;
}

/** Empty where nothing that differs can be changed while the run goes on. */
function changeAdvice(run: string, differences: readonly ConfigDifference[]): string {
  const settings = differences.flatMap(({ key, b }) => {
    const value = b ?? (key.startsWith('budget.') ? 'none' : null);
    return value !== null && SETTABLE.test(key) ? [`${key}=${value}`] : [];
  });
  if (settings.length === 0) return '';
  const what = settings.length === differences.length ? 'it' : 'what can be changed of that';
  return `change ${what} with \`everstep runs set ${run} ${settings.join(' ')}\`, `;
}

/** As it was started, with the defaults of this release, so that what an older one did not know of yet is no difference; null before it is prepared. */
export async function storedConfig(records: RunRecords, run: string): Promise<object | null> {
  const config = await records
    .readConfig<{ readonly config: object }>(run)
    .then((record) => record.config, unprepared);
  if (config === null) return null;
  // Its schemas take longer to make than most calls that need none of them.
  // oxlint-disable-next-line typescript/no-require-imports, typescript/consistent-type-assertions -- what `import` would have typed
  const { parseTrainingConfig } = require('../config/parse-training-config') as typeof TrainingConfigs;
  try {
    return parseTrainingConfig(config);
  } catch {
    return config;
  }
}

/** As it was given to the workflow, which another client may have started a moment ago; null where it told none. */
async function startedConfig(client: Client, run: string): Promise<object | null> {
  const { events } = await client.workflow.getHandle(workflowIdOf(run)).fetchHistory();
  const input = inputOf(events?.[0]);
  if (typeof input !== 'object' || input === null || !('config' in input)) return null;
  return typeof input.config === 'object' ? input.config : null;
}

type HistoryEvent = NonNullable<Awaited<ReturnType<WorkflowHandle['fetchHistory']>>['events']>[number];

function inputOf(started: HistoryEvent | undefined): unknown {
  const [payload] = started?.workflowExecutionStartedEventAttributes?.input?.payloads ?? [];
  return payload && defaultPayloadConverter.fromPayload(payload);
}

function unprepared(error: unknown): null {
  if (error instanceof DomainError && error.code === 'unknown-run') return null;
  throw error;
}
