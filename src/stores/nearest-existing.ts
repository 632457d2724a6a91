import { stat } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { hasErrorCode } from '../core/error-code';

/** Where the path, or what it is to be made in, is there already. */
export interface ExistingPlace {
  readonly path: string;
  readonly isFolder: boolean;
}

/** The path itself, else the nearest above it that is there and can be looked at. */
export async function nearestExisting(path: string): Promise<ExistingPlace> {
  const whole = resolve(path);
  try {
    return { path: whole, isFolder: (await stat(whole)).isDirectory() };
  } catch (error) {
    const above = dirname(whole);
    if (above === whole || !hasErrorCode(error, 'ENOENT', 'ENOTDIR', 'EACCES')) throw error;
    return nearestExisting(above);
  }
}
