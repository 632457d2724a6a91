import type { EngineSource } from '../core/benchmark-run';
import { DomainError } from '../core/errors';
import type { RunStore } from '../stores/run-store';
import type { RunRecord } from './run-folder';
import { requireRun } from './run-folder';

/** Sampler weights of RUN@STEP, or of RUN's newest checkpoint, as something that can be asked. */
export async function findCheckpointSource(store: RunStore, text: string): Promise<EngineSource> {
  const [run = '', step] = text.split('@');
  await requireRun(store, run);
  const { config, renderer } = await store.readConfig<RunRecord>(run);
  const rows = (await store.readCheckpoints(run)).filter(({ sampler_path }) => sampler_path !== null);
  const row = step === undefined ? rows.at(-1) : rows.findLast((each) => each.step === Number(step));
  if (!row?.sampler_path) {
    const known = [...new Set(rows.map((each) => each.step))].join(', ') || 'none yet';
    throw new DomainError(
      'checkpoint-missing',
      `checkpoint "${text}" has no sampler weights. Steps of "${run}" with some: ${known}.`,
    );
  }
  const { url, profile } = config.engine;
  return {
    type: 'engine',
    model: config.model,
    path: row.sampler_path,
    label: `${run}@${row.step}`,
    identity: `${run}/${row.step}/${row.lineage}`,
    renderer,
    ...(config.templateArguments && { templateArguments: config.templateArguments }),
    ...(url !== undefined && { url }),
    ...(profile && { profile }),
  };
}
