import { realpathSync } from 'node:fs';
import path from 'node:path';
import { largestOf } from '../core/extremes';
import { DomainError } from '../core/errors';
import { OFFICIAL_SERVICE } from '../core/official-service';
import { Allowances } from './allowances';

export interface PermissionOptions {
  readonly dataFolder: string;
  readonly store: string;
  /** The worker's own plug-in file. */
  readonly plugins?: string;
  /** Beneath them any file may be a plug-in. */
  readonly pluginFolders: readonly string[];
  /** Where the worker was started: as them, unless it lies among what runs write. */
  readonly startedIn?: string;
  /** The service that the worker was started with. */
  readonly engineUrl?: string;
  /** Further addresses that get keys. */
  readonly keyAddresses: readonly string[];
  /** Models that roles of Inspect AI may load here. */
  readonly inspectModels?: readonly string[];
}

/**
 * What a worker does for the input of a workflow, which it does not trust: code runs from the folders and files that it was told of, and
 * keys go to the addresses that it was told of.
 */
export interface Permissions {
  /** Whether somebody told this worker of a file of code. */
  readonly mayRun: (file: string) => boolean;
  /** Throws `refused` for a file of code that nobody told this worker of. `what` begins the message. */
  readonly requireCode: (file: string, what: string) => void;
  /** `key`, where `address` may have it. */
  readonly keyFor: (address: string, key: string | undefined) => string | undefined;
  /** Whether Inspect AI may load this model of a role, which is none of a service: a person named just this one. */
  readonly mayLoad: (model: unknown) => boolean;
  /** Whether a webhook at `address` may have the values of its headers. */
  readonly mayTell: (address: string) => boolean;
}

/** They get the key of their own service from whoever has one. */
const OFFICIAL_ADDRESSES = [OFFICIAL_SERVICE, 'https://api.openai.com'];

/** Such a path leads each process elsewhere, e.g. `/proc/self/cwd/code.js`: who names it need not know where it leads. */
const OF_A_PROCESS = /^\/(?:proc|dev\/fd)\//;

export function createPermissions(options: PermissionOptions): Permissions {
  const allowances = new Allowances(options.dataFolder);
  const { engineUrl, keyAddresses, plugins } = options;
  const told = [...OFFICIAL_ADDRESSES, ...keyAddresses, ...(engineUrl === undefined ? [] : [engineUrl])];
  const origins = new Set(told.map(originOf));
  const toldOrigins = new Set(keyAddresses.map(originOf));
  // What runs and evaluations write lies there, and what came from elsewhere: the innermost folder decides.
  const written = [options.dataFolder, options.store].map(realPathOf);
  const folders = [
    ...options.pluginFolders.map(realPathOf),
    ...workingFolder(options).filter((folder) => !written.includes(folder) && depthOf(written, folder) === 0),
  ];
  const own = plugins === undefined ? null : realPathOf(plugins);

  function mayRun(named: string): boolean {
    if (OF_A_PROCESS.test(path.resolve(named))) return false;
    const file = realPathOf(named);
    if (file === own || allowances.has({ use: 'code', of: file })) return true;
    const depth = depthOf(folders, file);
    return depth > 0 && depth >= depthOf(written, file);
  }

  return {
    mayRun,
    requireCode(file, what) {
      if (mayRun(file)) return;
      throw new DomainError(
        'refused',
        `${what}: this worker was not told that it may run ${file}. Give the command with the worker's --data-dir, ` +
          `start the worker in the file's folder, or name that folder in EVERSTEP_PLUGIN_FOLDERS where it is started.`,
      );
    },
    keyFor(address, key) {
      const origin = originOf(address);
      const isTold = origins.has(origin) || allowances.has({ use: 'key', of: origin });
      return isTold ? key : undefined;
    },
    mayLoad(model) {
      const isTold = typeof model === 'string' && options.inspectModels?.includes(model) === true;
      return isTold || allowances.has({ use: 'model', of: JSON.stringify(model) });
    },
    mayTell(address) {
      const origin = originOf(address);
      return toldOrigins.has(origin) || allowances.has({ use: 'webhook', of: origin });
    },
  };
}

function originOf(address: string): string {
  return URL.canParse(address) ? new URL(address).origin : address;
}

function workingFolder({ startedIn }: PermissionOptions): string[] {
  return startedIn === undefined ? [] : [realPathOf(startedIn)];
}

/** Where nothing is, the path itself: whoever reads the file says that it is not there. */
function realPathOf(file: string): string {
  try {
    return realpathSync(file);
  } catch {
    return path.resolve(file);
  }
}

/** Length of the innermost folder that holds the file; 0 where none does. */
function depthOf(folders: readonly string[], file: string): number {
  const holding = folders.filter((folder) => {
    const way = path.relative(folder, file);
    return way !== '' && way !== '..' && !way.startsWith(`..${path.sep}`) && !path.isAbsolute(way);
  });
  return Math.max(0, largestOf(holding.map((folder) => folder.length)));
}
