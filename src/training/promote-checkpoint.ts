import { join } from 'node:path';
import type { Promotion } from '../core/controls/promotion';
import { DomainError } from '../core/errors';
import type { RunStore } from '../stores/run-store';
import { readJson, writeJson } from '../stores/whole-file';
import type { ActiveRuns } from './active-runs';
import { requireRun } from './run-folder';

export interface PromoteInput {
  readonly run: string;
  readonly promotion: Promotion;
}

export interface PromoteDependencies {
  readonly store: RunStore;
  readonly runs: ActiveRuns;
}

/**
 * Writes `best.json`, and has the service keep the checkpoint for good. Returns why it cannot be kept, null if it is.
 * Repeating it changes nothing; an older promotion never replaces a newer one.
 */
export async function promoteCheckpoint(
  { store, runs }: PromoteDependencies,
  { run, promotion }: PromoteInput,
): Promise<string | null> {
  await requireRun(store, run);
  const lack = await keepForGood(runs, run, promotion);
  if (lack !== null) return lack;
  const file = bestFile(store.runFolder(run));
  const present = await readJson<Promotion>(file);
  if (present === null || present.at <= promotion.at) await writeJson(file, promotion);
  return null;
}

function bestFile(runFolder: string): string {
  return join(runFolder, 'best.json');
}

async function keepForGood(runs: ActiveRuns, run: string, promotion: Promotion): Promise<string | null> {
  const paths = [promotion.state_path, promotion.sampler_path].filter((path) => path !== null);
  try {
    await runs.use(run, async ({ engine }) => {
      for (const path of paths) await engine.client.setTtl(path, null);
    });
    return null;
  } catch (error) {
    if (!(error instanceof DomainError) || error.retryable || error.code === 'unreachable') throw error;
    return error.message;
  }
}
