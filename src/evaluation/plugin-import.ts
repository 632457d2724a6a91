import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { DomainError } from '../core/errors';
import { asSentence } from '../core/sentences';
import { messageOf } from './error-message';
import { runForeign } from './foreign-work';
import { importFresh } from './import-fresh';
import { filesOfPlugin } from './plugin-digest';

/** What `import … from 'everstep'` means: compiled beside this file, or its source. */
const LIBRARY = join(__dirname, '..', 'client', 'index');

/**
 * What a plug-in file exports, as the file and those it imports are now, however often this process has loaded them before.
 *
 * `everstep` is the library that this process runs, wherever the file lies, so that classes and symbols are the same
 * ones; `zod` is ours where the file's folder has none. Other packages are looked for from the file's folder.
 */
export async function importPluginFile(path: string): Promise<unknown> {
  try {
    const imported = await runForeign({ subject: `plug-in file ${path}` }, () =>
      importFresh(path, { modules: providedTo(path), files: filesOfPlugin(path) }),
    );
    const byDefault: unknown =
      typeof imported === 'object' && imported !== null ? Reflect.get(imported, 'default') : undefined;
    return byDefault ?? imported;
  } catch (error) {
    throw new DomainError(
      'bad-plugin',
      `plugins: ${path} fails when loaded: ${asSentence(reasonOf(error))}${remedyOf(error, path)}`,
      { cause: error },
    );
  }
}

/** Looked up when it is imported: most plug-in files need no library, and it is large. */
function providedTo(path: string): Record<string, unknown> {
  const own: (name: string) => unknown = createRequire(__filename);
  return {
    get everstep(): unknown {
      // The library is a layer above and reads plug-ins itself: it cannot be imported here.
      // oxlint-disable-next-line typescript/no-require-imports -- found at run time
      const library: unknown = require(LIBRARY);
      return library;
    },
    ...(!finds(path, 'zod') && { zod: own('zod'), 'zod/v4': own('zod/v4') }),
  };
}

function finds(path: string, name: string): boolean {
  const folders = createRequire(path).resolve.paths(name) ?? [];
  return folders.some((folder) => existsSync(join(folder, name)));
}

/** On one line. Node lists who asked for a missing module on lines of their own. */
function reasonOf(error: unknown): string {
  return messageOf(error)
    .replace(/\nRequire stack:[^]*$/, '')
    .replace(/\s+/g, (space) => (space.includes('\n') ? ' ' : space));
}

function remedyOf(error: unknown, path: string): string {
  const [, name = ''] =
    /Cannot find (?:module|package) '((?:@[\w.-]+\/)?[a-z\d][\w.-]*)/i.exec(messageOf(error)) ?? [];
  return name === '' ? '' : ` Install it there: \`npm install ${name}\` in ${dirname(path)}.`;
}
