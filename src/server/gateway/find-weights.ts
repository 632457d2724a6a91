import type { Promotion } from '../../core/controls/promotion';
import { isValidName } from '../../core/names';
import { nearestKey } from '../../core/nearest-key';
import type { TemplateArguments } from '../../core/conversation';
import type { CheckpointRow } from '../../core/run';
import type { RunStore } from '../../stores/run-store';
import { readPromotion } from '../../stores/checkpoint-name';
import type { RunRecord } from '../../training/run-folder';
import { RequestError } from '../http/request-error';
import type { ModelName } from './model-name';
import { readModelName } from './model-name';

/** Weights that can be sampled, and how they are spoken to. */
export interface FoundWeights {
  /** As answers call it: `RUN@STEP` where a run is meant, whatever was asked for. */
  readonly label: string;
  /** null where only the service knows. */
  readonly baseModel: string | null;
  /** Sampler weights; null samples the base model. */
  readonly path: string | null;
  /** The service that has them; null for the one this server was given. */
  readonly engineUrl: string | null;
  readonly profile: 'everstep' | 'tinker' | 'skyrl' | null;
  /** null for the one recommended for the model. */
  readonly renderer: string | null;
  /** What the run's chat template is given. */
  readonly templateArguments?: TemplateArguments;
}

export type WeightsRecords = Pick<
  RunStore,
  'exists' | 'listRuns' | 'readCheckpoints' | 'readConfig' | 'runFolder'
>;

/** Finds what a client calls a model. */
export async function findWeights(text: string, records: WeightsRecords): Promise<FoundWeights> {
  const name = readModelName(text);
  if (name.kind === 'path') return { ...NOWHERE, label: text, baseModel: name.baseModel, path: name.path };
  if (name.kind === 'run') return findRunWeights(name, records);
  const isRun = isValidName(name.name) && (await records.exists(name.name));
  if (isRun) return findRunWeights({ kind: 'run', run: name.name, step: 'newest' }, records);
  return { ...NOWHERE, label: name.name, baseModel: name.name, path: null };
}

/** Checkpoints that stay and can be sampled, oldest first. */
export function keptCheckpoints(rows: readonly CheckpointRow[]): CheckpointRow[] {
  return rows.filter(({ sampler_path, rolling }) => sampler_path !== null && rolling !== true);
}

const NOWHERE = { engineUrl: null, profile: null, renderer: null };

type Wanted =
  | Extract<ModelName, { kind: 'run' }>
  | { readonly kind: 'run'; readonly run: string; readonly step: 'newest' };

async function findRunWeights({ run, step }: Wanted, records: WeightsRecords): Promise<FoundWeights> {
  if (!(await records.exists(run))) throw await unknownRun(run, records);
  const { config, renderer } = await records.readConfig<RunRecord>(run);
  const { url = null, profile = null } = config.engine;
  const row = await (step === 'best' ? promoted(run, records) : keptAt({ run, step }, records));
  return {
    label: `${run}@${row.step}`,
    baseModel: config.model,
    path: row.sampler_path,
    engineUrl: url,
    profile,
    renderer,
    ...(config.templateArguments && { templateArguments: config.templateArguments }),
  };
}

async function unknownRun(run: string, records: WeightsRecords): Promise<RequestError> {
  const known = (await records.listRuns()).map((state) => state.run);
  const meant = nearestKey(run, known);
  const hint = meant === undefined ? '' : ` Did you mean "${meant}"?`;
  return notFound(`There is no run "${run}" in the store.${hint}`);
}

async function keptAt(
  { run, step }: { readonly run: string; readonly step: number | 'newest' },
  records: WeightsRecords,
): Promise<Pick<CheckpointRow, 'step' | 'sampler_path'>> {
  const kept = keptCheckpoints(await records.readCheckpoints(run));
  const row = step === 'newest' ? kept.at(-1) : kept.findLast((each) => each.step === step);
  if (row) return row;
  const steps = [...new Set(kept.map((each) => each.step))].join(', ') || 'none yet';
  throw notFound(
    `Run "${run}" has no sampler weights${step === 'newest' ? '' : ` of step ${step}`}. Steps with some: ${steps}.`,
  );
}

async function promoted(
  run: string,
  records: WeightsRecords,
): Promise<Pick<Promotion, 'step' | 'sampler_path'>> {
  const best = await readPromotion(records.runFolder(run));
  if (best?.sampler_path) return best;
  throw notFound(
    `Nobody promoted a checkpoint of run "${run}" that can be sampled. Promote one with: npx everstep runs promote ${run}@STEP`,
  );
}

function notFound(message: string): RequestError {
  return new RequestError(404, { message, param: 'model', code: 'model_not_found' });
}
