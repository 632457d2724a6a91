import type { HubAccess } from '../hub/hub-access';
import type { DatasetFile, DatasetSource } from './dataset';
import { chooseFiles } from './hub-file-choice';
import { openHub } from './hub-cache';

export interface HubDatasetSpec {
  /** `owner/name` of a dataset. */
  readonly hub: string;
  /** Subset, for datasets that have several. */
  readonly config?: string;
  /** Branch, tag or commit. What was used is recorded as a commit; give a commit to read the same rows for ever. */
  readonly revision?: string;
  readonly split: string;
  /** Files by name, where the split's files cannot be told from their names. */
  readonly file?: string | readonly string[];
}

/** Brings the files of one split into the cache and names them. A pinned commit whose files are cached needs no network. */
export async function fetchHubDataset(
  spec: HubDatasetSpec & HubAccess,
): Promise<{ files: DatasetFile[]; source: DatasetSource }> {
  const snapshot = await openHub(spec, {
    name: spec.hub,
    ...(spec.revision ? { revision: spec.revision } : {}),
  });
  const named = typeof spec.file === 'string' ? [spec.file] : spec.file;
  const paths = named ?? chooseFiles(await snapshot.list(), spec);
  const files: DatasetFile[] = [];
  for (const path of paths) files.push({ name: `${spec.hub}/${path}`, path: await snapshot.fetch(path) });
  return {
    files,
    source: {
      description: `${spec.hub}@${snapshot.commit.slice(0, 12)} (${[spec.config, spec.split].filter(Boolean).join('/')})`,
      files: [...paths],
      revision: snapshot.commit,
    },
  };
}
