import { existsSync } from 'node:fs';
import path from 'node:path';
import { readEnvironment } from '../config/environment';
import { createPermissions } from '../config/permissions';
import type { BenchmarkRequest } from '../core/benchmark-run';
import { DomainError } from '../core/errors';

/**
 * Refuses to ask again for what a plan in a store asks for where that runs a file of code here which no command named: neither one
 * before it with this data folder, nor EVERSTEP_PLUGIN_FOLDERS. Results may be somebody else's, and their folder that of the command.
 * What is not here lies on the workers' machine, and they decide.
 */
export function refuseStrangeCode(
  folder: string,
  requests: readonly BenchmarkRequest[],
  dataFolder: string,
): void {
  const { pluginFolders } = readEnvironment({ dataDir: dataFolder });
  const { mayRun } = createPermissions({ dataFolder, store: folder, pluginFolders, keyAddresses: [] });
  for (const { benchmark, plugins } of requests) {
    // As whoever loads it takes it: with a slash at its end nothing would be there.
    if (plugins === undefined || mayRun(plugins) || !existsSync(path.resolve(plugins))) continue;
    throw new DomainError(
      'refused',
      `${benchmark} of ${folder} was made with the plug-in file ${plugins}, which no command with this data folder has named: ` +
        "the results may be somebody else's. If you trust that file, name it: --plugins FILE (`plugins` in a program).",
    );
  }
}
