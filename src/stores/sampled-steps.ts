import { join } from 'node:path';
import { isOfficialService } from '../core/official-service';
import type { CheckpointRow } from '../core/run';
import { isRecord, readJsonLines } from './json-lines';
import { isCheckpointRow } from './run-rows';
import { readJsonIfThere } from './whole-file';

/** What a run's `config.json` says of how its weights are sampled. */
export interface SampledRun {
  readonly config: { readonly engine: { readonly url?: string | undefined }; readonly loraRank: number };
  readonly engineUrl: string;
  readonly initialPath: string | null;
}

/** `samplerPath` is null for the base model. */
export interface SampledState {
  readonly row: CheckpointRow;
  readonly samplerPath: string | null;
}

/** A step that has only its training state, as step 0 mostly, is sampled from that; null where it cannot be. */
export function stateOf(rows: readonly CheckpointRow[], step: number, run: SampledRun): SampledState | null {
  const row = rows.findLast((each) => each.step === step && each.state_path);
  return row ? sampledState(row, run) : null;
}

function sampledState(row: CheckpointRow, run: SampledRun): SampledState | null {
  if (!isOfficialService(run.config.engine.url ?? run.engineUrl)) return { row, samplerPath: row.state_path };
  // The official service samples from sampler weights alone; an adapter that was never trained changes nothing.
  return isUntrained(row, run) ? { row, samplerPath: null } : null;
}

function isUntrained({ step }: CheckpointRow, { config, initialPath }: SampledRun): boolean {
  return step === 0 && initialPath === null && config.loraRank > 0;
}

/** Steps that `eval --checkpoint RUN@STEP` takes, in order. */
export function sampledSteps(rows: readonly CheckpointRow[], run: SampledRun): number[] {
  const steps = new Set(rows.flatMap(({ step, sampler_path }) => (sampler_path === null ? [] : step)));
  // Of a step that was saved again the newest counts.
  const states = new Map(rows.flatMap((row) => (row.state_path ? [[row.step, row] as const] : [])));
  for (const [step, row] of states) if (sampledState(row, run) !== null) steps.add(step);
  return [...steps].sort((left, right) => left - right);
}

/** The same of a run's folder; null where its config cannot be read. */
export async function readSampledSteps(runFolder: string): Promise<number[] | null> {
  const run = await readJsonIfThere<SampledRun>(join(runFolder, 'config.json'));
  if (!isSampledRun(run)) return null;
  const rows = await readJsonLines<CheckpointRow>(join(runFolder, 'checkpoints.jsonl'));
  return sampledSteps(rows.filter(isCheckpointRow), run);
}

/** Files can be copied, edited and damaged. */
function isSampledRun(run: Partial<SampledRun> | null): run is SampledRun {
  const engine = run?.config?.engine ?? null;
  return isRecord(engine) && typeof (engine.url ?? '') === 'string' && typeof run?.engineUrl === 'string';
}

/** What is evaluated instead of a step without weights, the nearest first. */
export function nearestStep(steps: readonly number[], wanted: number): number | undefined {
  return [...steps].sort((left, right) => Math.abs(left - wanted) - Math.abs(right - wanted))[0];
}
