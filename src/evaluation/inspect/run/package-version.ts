import { readdir } from 'node:fs/promises';
import path from 'node:path';
import { hasErrorCode } from '../../../core/error-code';
import { taskFileOf } from '../task-source';
import { readEnvironmentRecord } from './python-environment';

/**
 * Version of the package that a task comes from, as the Python environment has it; null for a task in a file, and where no such package lies
 * beside the interpreter. Read from the names of its files, which takes no start of Python.
 */
export async function packageVersionOf(cacheFolder: string, task: string): Promise<string | null> {
  const [name, ...others] = task.split('/');
  if (taskFileOf(task) !== null || name === undefined || others.length === 0) return null;
  const environment = await readEnvironmentRecord(cacheFolder);
  if (!environment) return null;
  const library = path.join(path.dirname(path.dirname(environment.python)), 'lib');
  const folders = (await namesIn(library)).filter((each) => each.startsWith('python3'));
  const places = folders.flatMap((each) =>
    ['site-packages', 'dist-packages'].map((packages) => path.join(library, each, packages)),
  );
  const entries = (await Promise.all(places.map(namesIn))).flat();
  const found = entries.map((entry) => /^(.+)-([^-]+)\.dist-info$/.exec(entry));
  return found.find((each) => plain(each?.[1] ?? '') === plain(name))?.[2] ?? null;
}

/** PyPA's rule: case, dots, hyphens and underscores make no difference. */
function plain(name: string): string {
  return name.toLowerCase().replace(/[-_.]+/g, '-');
}

async function namesIn(folder: string): Promise<string[]> {
  try {
    return (await readdir(folder)).sort();
  } catch (error) {
    if (hasErrorCode(error, 'ENOENT', 'ENOTDIR')) return [];
    throw error;
  }
}
