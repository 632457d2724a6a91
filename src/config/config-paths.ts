import os from 'node:os';
import path from 'node:path';
import { isPlainObject } from './config-errors';

/** Keys whose value is a path or a list of paths, wherever a dataset stands. */
const DATASET_PATHS = ['path', 'testPath'];
const EVALUATOR_LISTS = ['evaluators', 'infrequentEvaluators'];

/** Make every relative path in a config, as yet unchecked, absolute. `~` is the home folder. */
export function resolveConfigPaths(config: Record<string, unknown>, folder: string): void {
  resolveKey(config, 'plugins', folder);
  if (isPath(config['model'])) resolveKey(config, 'model', folder);
  resolveDataset(config['dataset'], folder);
  resolveEvaluators(config, folder);
  if (!Array.isArray(config['schedules'])) return;
  for (const schedule of config['schedules'])
    if (isPlainObject(schedule)) resolveEvaluators(schedule, folder);
}

/** Models are names; one that begins like a path is a folder. */
function isPath(value: unknown): boolean {
  return typeof value === 'string' && /^(\.{1,2}|~)\//.test(value);
}

function resolveEvaluators(holder: Record<string, unknown>, folder: string): void {
  for (const list of EVALUATOR_LISTS.map((key) => holder[key]).filter((value) => Array.isArray(value))) {
    for (const evaluator of list) if (isPlainObject(evaluator)) resolveDataset(evaluator['dataset'], folder);
  }
}

function resolveDataset(dataset: unknown, folder: string): void {
  if (isPlainObject(dataset)) for (const key of DATASET_PATHS) resolveKey(dataset, key, folder);
}

function resolveKey(holder: Record<string, unknown>, key: string, folder: string): void {
  const value = holder[key];
  if (Array.isArray(value)) holder[key] = value.map((inner: unknown) => absolute(inner, folder));
  else if (value !== undefined) holder[key] = absolute(value, folder);
}

function absolute(value: unknown, folder: string): unknown {
  if (typeof value !== 'string' || value === '') return value;
  if (value === '~' || value.startsWith('~/')) return path.join(os.homedir(), value.slice(1));
  return path.resolve(folder, value);
}
