import { constants } from 'node:fs';
import { access } from 'node:fs/promises';
import { resolve } from 'node:path';
import { readEnvironment } from '../../config/environment';
import { DomainError } from '../../core/errors';
import { whyNoCode } from '../../evaluation/code-file';
import { resolveTemporal } from '../../stack/resolve-temporal';
import { nearestExisting } from '../../stores/nearest-existing';
import { escapeControls } from '../escape-controls';
import type { PlaceFlags } from '../service-options';

interface NamedFiles {
  readonly output?: string | undefined;
  readonly plugins?: string | undefined;
}

/**
 * Refuses a folder for results that cannot be written and a plug-in file that is none, before anything is started. Workers of a
 * configured server may be elsewhere, where the paths are others.
 */
export async function refuseUselessFiles(
  { output, plugins }: NamedFiles,
  flags: Pick<PlaceFlags, 'dataDir'>,
): Promise<void> {
  if (resolveTemporal(readEnvironment(flags).dataFolder).from === 'configuration') return;
  if (output !== undefined) await refuseUnwritable(output);
  if (plugins !== undefined) refuseNoCode(plugins);
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

function refuseNoCode(plugins: string): void {
  const reason = whyNoCode(plugins);
  if (reason === null) return;
  throw new DomainError(
    'bad-config',
    `--plugins: ${escapeControls(resolve(plugins))} cannot be read: ${escapeControls(reason)}. Give the path of a plug-in file.`,
  );
}
