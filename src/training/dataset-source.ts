import { createHash } from 'node:crypto';
import { join } from 'node:path';
import type { DatasetToRead } from '../evaluation/dataset-of';
import type { TellWaiting } from '../core/concurrency/waiting-reasons';
import { isUnforeseen } from '../core/defects';
import { PYTHON_TASK_QUEUE } from '../core/python';
import type { LoadedDataset } from '../datasets/dataset';
import { loadDataset } from '../datasets/load-dataset';
import type { PythonLink } from '../evaluation/python/python-link';
import { requireLink } from '../evaluation/python/python-link';
import { pluginFailure } from './plugin-call';

export interface DatasetAccess {
  /** Where files from the hub are kept. */
  readonly cacheFolder: string;
  /** For gated datasets. */
  readonly token?: string;
  /** A mirror of the hub. */
  readonly hubUrl?: string;
  /** Bad rows are listed, whatever the config says of them. */
  readonly listsBadRows?: true;
  /** The way to Python workers, and the folder of the store where they leave what they read. */
  readonly python?: { readonly link: PythonLink; readonly folder: string };
}

/** `onWaiting` hears of a Python worker that is waited for. */
export type ReadDataset = (config: DatasetToRead, onWaiting?: TellWaiting) => Promise<LoadedDataset>;

/** A Python worker that is not there is told of, not waited for without end. */
const PATIENCE_MS = 15_000;

/** Reads datasets as the config names them, with this worker's cache and key. */
export function createDatasetReader({ python, ...access }: DatasetAccess): ReadDataset {
  return async (config, onWaiting) => {
    const local =
      config.python === undefined
        ? config
        : await readInPython(config.python, config, { ...python, ...(onWaiting && { onWaiting }) });
    const dataset = await loadDataset(specOf(local, access));
    return config.limit === undefined ? dataset : { ...dataset, rows: dataset.rows.slice(0, config.limit) };
  };
}

/**
 * Has a Python worker write the dataset's rows to a file of the store, and names that file. Read anew each time: a reader
 * that was changed is a changed dataset, and its hash says so.
 */
async function readInPython(
  dataset: string,
  { options = {}, taskQueue = PYTHON_TASK_QUEUE, ...config }: DatasetToRead,
  {
    onWaiting,
    ...access
  }: Partial<NonNullable<DatasetAccess['python']>> & {
    readonly onWaiting?: TellWaiting;
  },
): Promise<DatasetToRead> {
  const link = requireLink(access.link, `Dataset "${dataset}"`);
  const digest = createHash('sha256')
    .update(JSON.stringify([taskQueue, dataset, options]))
    .digest('hex');
  const path = join(access.folder ?? '', `${digest.slice(0, 32)}.jsonl`);
  const input = { dataset, options, path };
  const work = { activity: 'readDataset', taskQueue, input } as const;
  const asked = { patienceMs: PATIENCE_MS, ...(onWaiting && { onWaiting }) };
  await link.ask(work, asked).catch((error: unknown) => {
    // What Python threw comes as an error without a name; the way there has names for its own.
    const part = { subject: `dataset "${dataset}"`, file: 'a Python worker' };
    throw isUnforeseen(error) ? pluginFailure(part, error) : error;
  });
  return { ...config, path };
}

function specOf(
  config: DatasetToRead,
  { listsBadRows, ...access }: Omit<DatasetAccess, 'python'>,
): Parameters<typeof loadDataset>[0] {
  const { ignoreKeys = [], fields = {}, rubrics, needsReply = null, needsQuestion } = config;
  const onBadRow = listsBadRows ? 'list' : config.onBadRow;
  const needs = { rubrics: rubrics === true, needsReply, needsQuestion: needsQuestion === true };
  const reading = { onBadRow, ignoreKeys, fields, ...needs } as const;
  if (config.hub === undefined) return { path: config.path ?? [], ...reading };
  return {
    hub: config.hub,
    split: config.split,
    ...(config.subset !== undefined && { config: config.subset }),
    ...(config.revision !== undefined && { revision: config.revision }),
    ...access,
    ...reading,
  };
}
