import { join } from 'node:path';
import type { RunWorkersOptions } from './worker-options';

/** Where the processes that use one endpoint tell each other so: in the store, which all workers of a run see, wherever they are. */
export function sharedLimitsFolder({
  store,
  dataFolder,
}: Pick<RunWorkersOptions, 'store' | 'dataFolder'>): string {
  return join(store.includes('://') ? dataFolder : store, 'endpoints');
}
