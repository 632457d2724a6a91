import { realpath, rename, rm, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { hasErrorCode } from '../core/error-code';
import { DomainError } from '../core/errors';
import { linkOrCopy } from '../stores/whole-file';
import { writingTo } from './output-error';

interface Whole {
  /** The option that names the file. */
  readonly option?: '--output' | '--html';
  /** Refuses a file that is there. */
  readonly isNew?: boolean;
}

/** Writes what --output names: under another name until it is complete, so that what cannot be finished leaves nothing. */
export async function writeWhole<Result>(
  file: string,
  write: (temporary: string) => Promise<Result>,
  { option = '--output', isNew = false }: Whole = {},
): Promise<Result> {
  const there = await kindOf(file);
  if (isNew && there !== null) throw existing(file, option);
  // A device or a pipe takes it as it comes: in its place there may be no other file.
  if (there === 'special') return writingTo(option, file, () => write(file));
  const target = there === null ? file : await realpath(file);
  const temporary = path.join(path.dirname(target), `.${path.basename(target)}.${process.pid}.partial`);
  const refused = { file, option };
  try {
    return await writingTo(option, file, async () => {
      await writing(refused, () => writeFile(temporary, ''));
      const result = await write(temporary);
      await writing(refused, () => (isNew ? putNew(temporary, refused) : rename(temporary, target)));
      return result;
    });
  } finally {
    await rm(temporary, { force: true });
  }
}

/** The same for a text. */
export async function writeWholeText(file: string, text: string, how: Whole): Promise<void> {
  await writeWhole(file, (temporary) => writeFile(temporary, text), how);
}

type Kind = 'plain' | 'special';

/** A folder counts as plain: that it cannot be replaced is told where that fails. */
async function kindOf(file: string): Promise<Kind | null> {
  try {
    const found = await stat(file);
    return found.isFile() || found.isDirectory() ? 'plain' : 'special';
  } catch {
    return null;
  }
}

interface Refused {
  readonly file: string;
  readonly option: string;
}

/** Whoever made one meanwhile keeps it. */
async function putNew(temporary: string, { file, option }: Refused): Promise<void> {
  if (!(await linkOrCopy(temporary, file))) throw existing(file, option);
}

function existing(file: string, option: string): DomainError {
  return new DomainError(
    'bad-config',
    `${file} exists already. Remove it or give another name with ${option}.`,
  );
}

/** Only what concerns the output itself: what writes it may miss files of its own. */
async function writing({ file, option }: Refused, write: () => Promise<void>): Promise<void> {
  try {
    await write();
  } catch (cause) {
    if (!hasErrorCode(cause, 'ENOENT', 'EACCES', 'EISDIR', 'ENOTDIR', 'EPERM')) throw cause;
    throw new DomainError(
      'bad-config',
      `${option} ${file} cannot be written. Give a file in an existing folder.`,
      { cause },
    );
  }
}

/** Waits for a reader of standard output that is slower. */
export async function print(text: string): Promise<void> {
  if (process.stdout.write(text)) return;
  await new Promise((resolve) => process.stdout.once('drain', resolve));
}
