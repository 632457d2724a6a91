import os from 'node:os';
import path from 'node:path';
import { DomainError } from '../core/errors';
import { isPlainObject } from './config-errors';
import type { NotCarried } from './import-cookbook-keys';

/** What the cookbook's dataset builder says, in our keys. */
interface ImportedDataset {
  readonly keys: Readonly<Record<string, unknown>>;
  readonly notCarried: readonly NotCarried[];
}

export interface DatasetImportOptions {
  /** How messages call the file that is imported. */
  readonly source: string;
  /** Model of the run: a tokenizer of another one is not carried over. */
  readonly model: unknown;
  /** Takes the place of whatever the builder reads: a file or a dataset on the hub. */
  readonly dataset?: string | undefined;
  /** Where relative paths start. */
  readonly folder: string;
}

type Mapping = Readonly<Record<string, unknown>>;

const COMMON = ['model_name_for_tokenizer', 'renderer_name', 'max_length', 'batch_size', 'train_on_what'];
const KNOWN = ['common_config', 'file_path', 'sources', 'test_size', 'shuffle_seed', 'stopping_strategy'];
const HUB_NAME = /^[\w.-]+\/[\w.-]+$/;
const FILE_NAME = /\.(jsonl?|parquet)(\.gz)?$/;
const REMOTE = /^[a-z][a-z0-9+.-]*:\/\//i;

/** The config says which numbers a builder was given, not which builder: it is known by its keys. */
export function importDataset(builder: unknown, options: DatasetImportOptions): ImportedDataset {
  const written = requireMapping(builder, 'dataset_builder', options.source);
  const common = requireMapping(written['common_config'], 'dataset_builder.common_config', options.source);
  const where = placeOf(written, options);
  const testSize = written['test_size'];
  return {
    keys: {
      dataset: { ...where, ...(testSize !== undefined && testSize !== 0 && { testSize }) },
      renderer: common['renderer_name'],
      batchSize: common['batch_size'],
      ...(common['max_length'] != null && { maxLength: common['max_length'] }),
      ...(common['train_on_what'] != null && { trainOnWhat: camelCase(common['train_on_what']) }),
    },
    notCarried: [...tokenizerOf(common, options.model), ...orderOf(written), ...unknownKeys(written, common)],
  };
}

function requireMapping(value: unknown, key: string, source: string): Mapping {
  if (isPlainObject(value)) return value;
  throw new DomainError(
    'bad-config',
    `${source}: ${key} is missing or no mapping. Give the config.json that the cookbook's supervised loop writes.`,
  );
}

function placeOf(written: Mapping, { dataset, source, folder }: DatasetImportOptions): Mapping {
  if (dataset !== undefined) return namedPlace(dataset, folder);
  if (typeof written['file_path'] === 'string') return filePlace(written['file_path'], source, folder);
  if (Array.isArray(written['sources'])) return hubPlace(written['sources'], source);
  throw new DomainError(
    'bad-config',
    `${source}: dataset_builder names no data: a recipe's own builder, whose data is in its code. Say what it reads with --dataset FILE or --dataset OWNER/NAME.`,
  );
}

/** A hub name unless it looks like a file. */
function namedPlace(dataset: string, folder: string): Mapping {
  const isHub = HUB_NAME.test(dataset) && !FILE_NAME.test(dataset) && !/^[.~]/.test(dataset);
  return isHub ? { hub: dataset } : { path: absolute(dataset, folder) };
}

function filePlace(file: string, source: string, folder: string): Mapping {
  if (!REMOTE.test(file)) return { path: absolute(file, folder) };
  throw new DomainError(
    'bad-config',
    `${source}: dataset_builder.file_path is ${JSON.stringify(file)}, which is not on this machine. Fetch it and give --dataset FILE.`,
  );
}

function hubPlace(sources: readonly unknown[], source: string): Mapping {
  const [only, ...others] = sources;
  if (others.length > 0 || !isPlainObject(only)) {
    throw new DomainError(
      'bad-config',
      `${source}: dataset_builder mixes ${sources.length} datasets by weight, which a run here cannot. Mix them in one file and give --dataset FILE.`,
    );
  }
  const { path: hub, name: subset, split } = only;
  return { hub, ...(subset != null && { subset }), ...(split != null && { split }) };
}

function absolute(file: string, folder: string): string {
  return file.startsWith('~/') ? path.join(os.homedir(), file.slice(2)) : path.resolve(folder, file);
}

function camelCase(value: unknown): unknown {
  return typeof value === 'string'
    ? value.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase())
    : value;
}

function tokenizerOf(common: Mapping, model: unknown): NotCarried[] {
  if (common['model_name_for_tokenizer'] === model) return [];
  const key = 'dataset_builder.common_config.model_name_for_tokenizer';
  return [{ key, reason: "a run uses its own model's tokenizer" }];
}

/** The same number here would give no row the same place, and other initial weights. */
const OTHER_ORDER =
  'rows are shuffled and split by another generator, in another order; `seed`, which can be set, also initialises the adapter, which the cookbook leaves to the service';

function orderOf(written: Mapping): NotCarried[] {
  const notCarried: NotCarried[] = [];
  if (written['shuffle_seed'] !== undefined)
    notCarried.push({ key: 'dataset_builder.shuffle_seed', reason: OTHER_ORDER });
  const sources = written['sources'];
  const field = Array.isArray(sources) && isPlainObject(sources[0]) ? sources[0]['message_field'] : undefined;
  if (field !== undefined && field !== 'messages') {
    const reason = `conversations are read from the column messages, not ${JSON.stringify(field)}`;
    notCarried.push({ key: 'dataset_builder.sources.0.message_field', reason });
  }
  return notCarried;
}

function unknownKeys(written: Mapping, common: Mapping): NotCarried[] {
  const keys = [
    ...Object.keys(written)
      .filter((key) => !KNOWN.includes(key))
      .map((key) => `dataset_builder.${key}`),
    ...Object.keys(common)
      .filter((key) => !COMMON.includes(key))
      .map((key) => `dataset_builder.common_config.${key}`),
  ];
  return keys.map((key) => ({ key, reason: 'its meaning is not known here' }));
}
