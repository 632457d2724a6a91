import type { TrainingConfig } from '../config/training-config';
import { DomainError } from '../core/errors';
import { pluginDigest } from '../evaluation/plugin-digest';
import { hashOfFiles } from '../training/hash-of-files';
import type { RunRecord } from '../training/run-folder';
import type { RunRecords } from './run-records';

/** Characters of a hash, for people. */
const SHOWN = 12;

/**
 * Refuses training files, or a plug-in file, that hold something else than the run under way read: it goes on with that, and whoever gives the config means
 * the files as they are. What cannot be read here, where the run was perhaps not prepared, is no other.
 */
export async function requireSameData(
  records: RunRecords,
  run: string,
  config: TrainingConfig,
): Promise<void> {
  if (config.kind === 'rl') return requireSameCode(records, run, config.plugins);
  const { path } = config.dataset;
  if (path === undefined) return;
  const then = await hashOfRun(records, run);
  const now = then === null ? null : await hashOfFiles(path);
  if (then === null || now === null || then === now) return;
  const names = [path].flat().join(', ');
  throw new DomainError(
    'refused',
    `Run "${run}" is under way with what ${names} held when it was prepared (sha256 ${then.slice(0, SHOWN)}…), ` +
      `and now there is something else (${now.slice(0, SHOWN)}…). Follow it as it is with --attach, or give the new run another --run NAME.`,
  );
}

/** The same of the plug-in file that a run has its environment, its reward shaping or its loss from. */
async function requireSameCode(records: RunRecords, run: string, file: string | undefined): Promise<void> {
  const record = await records.readConfig<Partial<RunRecord>>(run).catch(() => null);
  const then = record?.code?.hash;
  const now = file === undefined ? undefined : digestHere(file);
  if (then === undefined || now === undefined || then === now) return;
  throw new DomainError(
    'refused',
    `Run "${run}" is under way with ${file ?? ''} as it was when it was prepared (sha256 ${then.slice(0, SHOWN)}…), ` +
      `and it has been changed since (${now.slice(0, SHOWN)}…). Follow it as it is with --attach, or give the new run another --run NAME.`,
  );
}

function digestHere(file: string): string | undefined {
  try {
    return pluginDigest(file);
  } catch {
    return undefined;
  }
}

async function hashOfRun(records: RunRecords, run: string): Promise<string | null> {
  const record = await records.readConfig<Partial<RunRecord>>(run).catch(() => null);
  return record?.data?.contentHash ?? null;
}
