import { open, rename } from 'node:fs/promises';
import { makeFolderOf } from '../../stores/make-folder';
import { asStoreError } from '../../stores/system-errors';
import { removeTemporary, temporaryName } from '../../stores/whole-file';
import { LineFile } from './line-file';

/** Writes a file under another name until it is whole. `verify` throws where it must not be written any more. */
export async function writeLines(
  path: string,
  writeTo: (file: LineFile) => Promise<void>,
  verify: () => void,
): Promise<void> {
  const temporary = temporaryName(path);
  try {
    await makeFolderOf(path);
    const handle = await open(temporary, 'w');
    try {
      const file = new LineFile(handle.fd);
      await writeTo(file);
      file.write();
      await handle.sync();
    } finally {
      await handle.close();
    }
    verify();
    await rename(temporary, path);
  } catch (error) {
    await removeTemporary(temporary);
    throw asStoreError(error, path);
  }
}
