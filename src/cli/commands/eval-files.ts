import { constants } from 'node:fs';
import { access } from 'node:fs/promises';
import { resolve } from 'node:path';
import { readEnvironment } from '../../config/environment';
import { DomainError } from '../../core/errors';
import { resolveTemporal } from '../../stack/resolve-temporal';
import { nearestExisting } from '../../stores/nearest-existing';
import { hasErrorCode } from '../../stores/system-errors';
import { escapeControls } from '../escape-controls';
import type { PlaceFlags } from '../service-options';

interface NamedFiles {
  readonly output?: string | undefined;
  readonly plugins?: string | undefined;
}

/**
 * Refuses a folder for results that cannot be written and a plug-in file that is not there, before anything is started. Workers of a
 * configured server may be elsewhere, where the paths are others.
 */
export async function refuseUselessFiles(
  { output, plugins }: NamedFiles,
  flags: Pick<PlaceFlags, 'dataDir'>,
): Promise<void> {
  if (resolveTemporal(readEnvironment(flags).dataFolder).from === 'configuration') return;
  if (output !== undefined) await refuseUnwritable(output);
  if (plugins !== undefined) await refuseMissing(plugins);
}

async function refuseUnwritable(output: string): Promise<void> {
  const { path, isFolder } = await nearestExisting(output);
  const place = escapeControls(path);
  if (!isFolder) {
    throw new DomainError('bad-config', `--output: ${place} is a file. Name a folder, or one to be made.`);
  }
  const isWritable = await access(path, constants.W_OK | constants.X_OK).then(
    () => true,
    () => false,
  );
  if (isWritable) return;
  throw new DomainError(
    'bad-config',
    `--output: the folder ${place} cannot be written. Name another, or give yourself permission to write it.`,
  );
}

async function refuseMissing(plugins: string): Promise<void> {
  const file = escapeControls(resolve(plugins));
  try {
    await access(plugins, constants.R_OK);
  } catch (error) {
    const problem = hasErrorCode(error, 'ENOENT', 'ENOTDIR')
      ? `there is no file ${file}. Give the path of a plug-in file.`
      : `${file} cannot be read. Give yourself permission to read it.`;
    throw new DomainError('bad-config', `--plugins: ${problem}`, { cause: error });
  }
}
