import type { TemporalAddress } from '../config/temporal-connection';
import { DEFAULT_NAMESPACE } from '../config/temporal-connection';
import { SILENT_PROGRESS } from '../stack/progress';
import { resolveTemporal } from '../stack/resolve-temporal';
import { waitForStartingStack } from '../stack/starting-stack';

interface TemporalOptions {
  readonly address?: string;
  readonly namespace?: string;
  readonly temporal?: TemporalAddress | null;
}

/** The server that is meant, or the one that is configured; a stack that is just starting in the data folder is waited for. */
export async function findTemporal(
  options: TemporalOptions,
  dataFolder: string,
): Promise<TemporalAddress | null> {
  const { temporal, address, namespace } = options;
  if (temporal !== undefined) return temporal;
  if (address !== undefined) return { address, namespace: namespace ?? DEFAULT_NAMESPACE };
  if (resolveTemporal(dataFolder).from === 'nothing')
    await waitForStartingStack(dataFolder, { progress: SILENT_PROGRESS, graceMs: 0 });
  const choice = resolveTemporal(dataFolder);
  return choice.from === 'nothing'
    ? null
    : { ...choice.target, namespace: namespace ?? choice.target.namespace };
}
