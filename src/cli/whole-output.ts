import { rename, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { DomainError } from '../core/errors';
import { hasErrorCode } from '../stores/system-errors';

/** Writes what --output names: under another name until it is complete. */
export async function writeWhole<Result>(
  file: string,
  write: (temporary: string) => Promise<Result>,
): Promise<Result> {
  const temporary = path.join(path.dirname(file), `.${path.basename(file)}.${process.pid}.partial`);
  await writing(file, () => writeFile(temporary, ''));
  try {
    const result = await write(temporary);
    await writing(file, () => rename(temporary, file));
    return result;
  } finally {
    await rm(temporary, { force: true });
  }
}

/** Only what concerns the output itself: what writes it may miss files of its own. */
async function writing(file: string, write: () => Promise<void>): Promise<void> {
  try {
    await write();
  } catch (cause) {
    if (!hasErrorCode(cause, 'ENOENT', 'EACCES', 'EISDIR', 'ENOTDIR', 'EPERM')) throw cause;
    throw new DomainError(
      'bad-config',
      `--output ${file} cannot be written. Give a file in an existing folder.`,
      { cause },
    );
  }
}

/** Waits for a reader of standard output that is slower. */
export async function print(text: string): Promise<void> {
  if (process.stdout.write(text)) return;
  await new Promise((resolve) => process.stdout.once('drain', resolve));
}
