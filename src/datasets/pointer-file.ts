import { readFile, stat } from 'node:fs/promises';
import { DomainError } from '../core/errors';

const LONGEST_POINTER = 1024;
const GIT_LFS = /^version https:\/\/git-lfs\.github\.com\/spec\//;
const XET = /^# xet version /;

/** A clone without its large files has a few lines in the place of each. */
export async function requireNoPointer(name: string, path: string): Promise<void> {
  const found = await stat(path);
  if (!found.isFile() || found.size > LONGEST_POINTER) return;
  const text = await readFile(path, 'latin1');
  if (GIT_LFS.test(text)) throw pointer(name, 'Git LFS', 'git lfs pull');
  if (XET.test(text)) throw pointer(name, 'Xet', 'hf download');
}

function pointer(name: string, kind: string, remedy: string): DomainError {
  return new DomainError(
    'bad-dataset',
    `${name} is a pointer of ${kind} in the place of the file. Fetch the file itself, for example with ${remedy}.`,
  );
}
