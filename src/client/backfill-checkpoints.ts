import { BASE_MODEL } from '../core/backfill';
import { DomainError } from '../core/errors';
import type { CheckpointRow } from '../core/run';
import { stateOf } from '../stores/sampled-steps';
import type { RunRecord } from '../training/run-folder';
import type { RunRecords } from './run-records';

/** Which kept checkpoints of a run are meant. */
export type StepChoice =
  | { readonly type: 'all' }
  | { readonly type: 'last' }
  | { readonly type: 'every'; readonly steps: number }
  | { readonly type: 'listed'; readonly steps: readonly number[] };

/** Weights of one step of one run. */
export interface ChosenCheckpoint {
  readonly run: string;
  readonly row: CheckpointRow;
  /** Every path these weights were saved under. */
  readonly paths: readonly string[];
}

export function parseSteps(text: string): StepChoice {
  if (text === 'all' || text === 'last') return { type: text };
  const every = /^every:(\d{1,12})$/.exec(text)?.[1];
  if (every !== undefined && Number(every) > 0) return { type: 'every', steps: Number(every) };
  const listed = text.split(',').map((part) => part.trim());
  if (listed.every((part) => /^\d{1,12}$/.test(part))) return { type: 'listed', steps: listed.map(Number) };
  throw new DomainError('bad-config', `--steps ${text}: write all, last, every:N, or steps such as 100,200.`);
}

/** Runs of the store by name or by pattern: `*` is any text, `?` one character. In the order asked for, each once. */
export async function chooseRuns(patterns: readonly string[], records: RunRecords): Promise<string[]> {
  const known = (await records.listRuns()).map(({ run }) => run);
  const chosen = patterns.flatMap((pattern) => {
    const matching = known.filter((run) => patternOf(pattern).test(run)).sort(inNumberOrder);
    if (matching.length > 0) return matching;
    const some = known.slice(0, 20).join(', ') || 'none';
    throw new DomainError('unknown-run', `--runs: no run is called "${pattern}". Known: ${some}.`);
  });
  if (chosen.length > 0) return [...new Set(chosen)];
  throw new DomainError('bad-config', 'Name the runs: --runs a,b or --runs "sft-*".');
}

/** Ordered by run, then by step. Of a step that was saved again the newest counts. */
export async function chooseCheckpoints(
  runs: readonly string[],
  choice: StepChoice,
  records: RunRecords,
): Promise<ChosenCheckpoint[]> {
  const rows = await Promise.all(runs.map(async (run) => ({ run, kept: await keptRows(run, records) })));
  const chosen = rows.flatMap(({ run, kept }) => {
    const paths = pathsByWeights(kept);
    return select(newestOfSteps(kept), choice).map((row) => ({
      ...{ run, row },
      paths: paths.get(weightsKey(row)) ?? [],
    }));
  });
  if (chosen.length > 0) return chosen;
  const kept = rows.map(({ run, kept: all }) => `${run}: ${stepsOf(all).join(', ') || 'none yet'}`);
  throw new DomainError(
    'bad-config',
    `--steps chooses no checkpoint that can be sampled from. There are, by run: ${kept.join('; ').slice(0, 500)}.`,
  );
}

/** With step 0, which mostly has a training state alone. */
async function keptRows(run: string, records: RunRecords): Promise<CheckpointRow[]> {
  const rows = await records.readCheckpoints(run);
  const kept = rows.filter(({ sampler_path, rolling }) => sampler_path !== null && rolling !== true);
  const start = kept.some(({ step }) => step === 0) ? null : await startOf(run, rows, records);
  return start ? [start, ...kept] : kept;
}

async function startOf(
  run: string,
  rows: readonly CheckpointRow[],
  records: RunRecords,
): Promise<CheckpointRow | null> {
  if (!rows.some(({ step }) => step === 0)) return null;
  const found = stateOf(rows, 0, await records.readConfig<RunRecord>(run));
  return found && { ...found.row, sampler_path: found.samplerPath };
}

function newestOfSteps(rows: readonly CheckpointRow[]): CheckpointRow[] {
  const newest = new Map(rows.map((row) => [row.step, row]));
  return [...newest.values()].sort((left, right) => left.step - right.step);
}

function select(rows: readonly CheckpointRow[], choice: StepChoice): readonly CheckpointRow[] {
  switch (choice.type) {
    case 'all':
      return rows;
    case 'last':
      return rows.slice(-1);
    case 'every':
      return rows.filter(({ step }) => step % choice.steps === 0);
    case 'listed':
      return rows.filter(({ step }) => choice.steps.includes(step));
  }
}

function pathsByWeights(rows: readonly CheckpointRow[]): ReadonlyMap<string, readonly string[]> {
  const paths = new Map<string, string[]>();
  for (const row of rows) {
    const own = paths.get(weightsKey(row)) ?? [];
    own.push(row.sampler_path ?? BASE_MODEL);
    paths.set(weightsKey(row), own);
  }
  return paths;
}

function weightsKey({ step, lineage }: CheckpointRow): string {
  return JSON.stringify([step, lineage]);
}

function stepsOf(rows: readonly CheckpointRow[]): number[] {
  return newestOfSteps(rows).map(({ step }) => step);
}

function patternOf(pattern: string): RegExp {
  const source = pattern
    .replaceAll(/[.+^${}()|[\]\\]/g, String.raw`\$&`)
    .replaceAll('*', '.*')
    .replaceAll('?', '.');
  return new RegExp(`^${source}$`);
}

/** run-2 before run-10. */
function inNumberOrder(left: string, right: string): number {
  return left.localeCompare(right, 'en', { numeric: true });
}
