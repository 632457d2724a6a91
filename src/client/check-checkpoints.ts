import type { JudgingCheckpoint } from '../config/judging-checkpoints';
import { judgingCheckpoints } from '../config/judging-checkpoints';
import type { TrainingConfig } from '../config/training-config';
import { DomainError } from '../core/errors';
import { findStep } from '../evaluation/judges/find-judge';
import { findCheckpointSource } from '../training/checkpoint-source';
import { resolveInitialCheckpoint } from '../training/initial-checkpoint';
import { resolveKlReference } from '../training/resolve-kl-reference';
import type { RunRecords } from './run-records';
import { requireRunOf, unknownRun } from './unknown-run';

/**
 * Refuses a config that names a checkpoint which no run of the store has: `unknown-checkpoint`, or `unknown-run`. Those that judge,
 * or are compared with, may be of the run itself, `run`, which has none yet. A store without any run is taken for one that only
 * the workers see; they refuse then.
 */
export async function checkCheckpoints(
  config: TrainingConfig,
  records: RunRecords,
  run?: string,
): Promise<void> {
  const judging = judgingCheckpoints(config).filter(({ checkpoint }) => runOf(checkpoint) !== run);
  const named = namedCheckpoints(config);
  if (named.length === 0 && judging.length === 0) return;
  if ((await records.listRuns()).length === 0) return;
  for (const [key, checkpoint] of named)
    if (!checkpoint.includes('://')) await requireRunOf(checkpoint, records, key);
  await resolveInitialCheckpoint(records, config);
  if (config.kind === 'rl') await resolveKlReference(records, config);
  for (const each of judging) await checkJudging(each, records);
}

function namedCheckpoints(config: TrainingConfig): [key: string, checkpoint: string][] {
  const { initialCheckpoint } = config;
  const reference = config.kind === 'rl' ? config.klReference.checkpoint : undefined;
  return [
    ...(initialCheckpoint === undefined ? [] : [pair('initialCheckpoint:', initialCheckpoint)]),
    ...(reference === undefined ? [] : [pair('klReference.checkpoint:', reference)]),
  ];
}

function pair(key: string, checkpoint: string): [string, string] {
  return [key, checkpoint];
}

function runOf(checkpoint: string): string {
  return checkpoint.replace(/@[^@]*$/, '');
}

async function checkJudging(
  { key, checkpoint, needsStep }: JudgingCheckpoint,
  records: RunRecords,
): Promise<void> {
  const find = async (text: string) => findKnown(text, key, records);
  await (needsStep ? findStep(checkpoint, key, find) : find(checkpoint));
}

async function findKnown(checkpoint: string, key: string, records: RunRecords) {
  const run = runOf(checkpoint);
  try {
    if (!(await records.exists(run))) throw await unknownRun(run, records);
    return await findCheckpointSource(records, checkpoint);
  } catch (error) {
    if (!(error instanceof DomainError)) throw error;
    throw new DomainError(error.code, `${key}: ${error.message}`, { cause: error });
  }
}
