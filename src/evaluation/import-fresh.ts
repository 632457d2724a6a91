import { createRequire } from 'node:module';
import { dirname, isAbsolute, join } from 'node:path';
import type { createJiti } from 'jiti';

type JitiOptions = NonNullable<Parameters<typeof createJiti>[1]>;

interface FreshOptions {
  /** What names of packages mean, in place of what is installed. */
  readonly modules: Record<string, unknown>;
  /** The file itself and what it may require: Node keeps these by their path. */
  readonly files: readonly string[];
}

type OpenJiti = (
  file: string,
  options: JitiOptions,
  node: {
    readonly onError: (error: unknown) => never;
    readonly nativeImport: (name: string | URL) => Promise<unknown>;
    readonly createRequire: typeof createRequire;
  },
) => ReturnType<typeof createJiti>;

/** jiti's inner entry, whose caller says how Node imports; its exports hold an outer one alone. */
const JITI = join(dirname(require.resolve('jiti/package.json')), 'dist');

/**
 * Loads a file in TypeScript or JavaScript as it is now. Node keeps an ES module for as long as the process lives, and jiti leaves
 * it ES modules: here they are compiled as TypeScript is, and packages alone are left to Node.
 */
export function importFresh(path: string, { modules, files }: FreshOptions): Promise<unknown> {
  for (const file of files) Reflect.deleteProperty(require.cache, file);
  const options: JitiOptions = {
    ...{ fsCache: false, moduleCache: false, interopDefault: true },
    virtualModules: modules,
    transform: (given) => compiler()(given),
  };
  // oxlint-disable-next-line typescript/no-require-imports, typescript/consistent-type-assertions -- no types of its own
  const open = require(join(JITI, 'jiti.cjs')) as OpenJiti;
  return open(__filename, options, { onError: fail, nativeImport: importPackage, createRequire }).import(
    path,
  );
}

/** Where Node does not import a file, jiti compiles it, unless the name is that of something else. */
function importPackage(name: string | URL): Promise<unknown> {
  const file = String(name);
  const isOwn = (isAbsolute(file) || file.startsWith('file:')) && !file.includes('node_modules');
  return isOwn ? Promise.reject(new Error(NO_CODE)) : import(file);
}

const NO_CODE = 'By its name it is no TypeScript or JavaScript, such as everstep.config.ts.';

/** Loaded where there is something to compile. */
function compiler(): NonNullable<JitiOptions['transform']> {
  // oxlint-disable-next-line typescript/no-require-imports, typescript/consistent-type-assertions -- no types of its own
  return require(join(JITI, 'babel.cjs')) as NonNullable<JitiOptions['transform']>;
}

function fail(error: unknown): never {
  throw error;
}
