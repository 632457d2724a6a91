import type { DatasetConfig } from '../config/dataset-config';
import type { LoadedDataset } from '../datasets/dataset';
import { loadDataset } from '../datasets/load-dataset';

export interface DatasetAccess {
  /** Where files from the hub are kept. */
  readonly cacheFolder: string;
  /** For gated datasets. */
  readonly token?: string;
}

export type ReadDataset = (config: DatasetConfig) => Promise<LoadedDataset>;

/** Reads datasets as the config names them, with this worker's cache and key. */
export function createDatasetReader(access: DatasetAccess): ReadDataset {
  return async (config) => {
    const dataset = await loadDataset(specOf(config, access));
    return config.limit === undefined ? dataset : { ...dataset, rows: dataset.rows.slice(0, config.limit) };
  };
}

function specOf(config: DatasetConfig, access: DatasetAccess): Parameters<typeof loadDataset>[0] {
  const { onBadRow } = config;
  if (config.hub === undefined) return { path: config.path ?? [], onBadRow };
  return {
    hub: config.hub,
    split: config.split,
    ...(config.subset !== undefined && { config: config.subset }),
    ...(config.revision !== undefined && { revision: config.revision }),
    ...access,
    onBadRow,
  };
}
