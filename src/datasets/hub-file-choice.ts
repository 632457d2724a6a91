import { DomainError } from '../core/errors';
import { isDatasetFile } from './file-rows';

interface Wanted {
  readonly hub: string;
  readonly config?: string;
  readonly split: string;
}

const SHARD = /-\d+-of-\d+(-[0-9a-f]+)?(?=\.\w+$)/;
const SPLIT_WORD =
  /(^|[/._-])(train|training|test|testing|validation|valid|val|dev|eval|evaluation)([/._-]|$)/i;
/** Written by the hub's own tools beside the data. */
const NOT_DATA = /(^|\/)(\.|dataset_infos\.json$)/;

/**
 * Files of a split by the hub's naming: `train.jsonl`, `data/train-00000-of-00002.parquet`, `main/test/0000.parquet`;
 * failing that, the split as a word of the path. A dataset that names no splits is all `train`. Files of more than one
 * set are never mixed: the choice is refused instead.
 */
export function chooseFiles(paths: readonly string[], wanted: Wanted): string[] {
  const known = paths.filter((path) => isDatasetFile(path) && !NOT_DATA.test(path)).sort();
  const inConfig = wanted.config === undefined ? known : naming(known, wanted.config);
  const named = naming(inConfig, wanted.split);
  const isUnsplit = wanted.split === 'train' && !inConfig.some((path) => SPLIT_WORD.test(path));
  const chosen = isUnsplit ? inConfig : named;
  const setCount = new Set(chosen.map(setOf)).size;
  if (setCount === 1) return chosen;
  const asked =
    wanted.config === undefined
      ? `split "${wanted.split}"`
      : `subset "${wanted.config}", split "${wanted.split}"`;
  const why =
    setCount === 0
      ? `no data file for ${asked}. Its data files: ${listed(known)}`
      : `more than one set of files for ${asked}: ${listed(chosen)}`;
  throw new DomainError(
    'bad-dataset',
    `Dataset "${wanted.hub}" has ${why}. Name the subset (config) or the files (file).`,
  );
}

/** Paths with a folder or a file of exactly that name; where there are none, paths in which it is a word. */
function naming(paths: readonly string[], name: string): string[] {
  const exact = paths.filter((path) => segments(path).includes(name));
  return exact.length > 0 ? exact : paths.filter((path) => hasWord(path, name));
}

function segments(path: string): string[] {
  return path
    .replace(SHARD, '')
    .replace(/\.\w+$/, '')
    .split('/');
}

/** Shards of one set differ in their numbers only. */
function setOf(path: string): string {
  return path.replace(SHARD, '').replace(/\/\d+(?=\.\w+$)/, '/');
}

function hasWord(path: string, word: string): boolean {
  const escaped = word.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
  return new RegExp(`(^|[/._-])${escaped}([/._-]|$)`, 'i').test(path);
}

function listed(paths: readonly string[]): string {
  if (paths.length === 0) return 'none in .jsonl, .json or .parquet';
  const shown = paths.slice(0, 8).join(', ');
  return paths.length > 8 ? `${shown} and ${paths.length - 8} more` : shown;
}
