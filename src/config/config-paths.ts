import os from 'node:os';
import path from 'node:path';
import { isPlainObject } from './config-errors';

/** Keys whose value is a path or a list of paths, wherever a dataset stands. */
const DATASET_PATHS = ['path', 'testPath'];
/** Keys of an environment whose value is a path. */
const ENVIRONMENT_PATHS = ['path', 'corpus', 'questions'];
const EVALUATOR_LISTS = ['evaluators', 'infrequentEvaluators'];

/** Make every relative path in a config, as yet unchecked, absolute. `~` is the home folder. */
export function resolveConfigPaths(config: Record<string, unknown>, folder: string): void {
  resolveKey(config, 'plugins', folder);
  if (isPath(config['model'])) resolveKey(config, 'model', folder);
  resolveDataset(config['dataset'], folder);
  resolveEnvironment(config['environment'], folder);
  resolveEvaluators(config, folder);
  if (!Array.isArray(config['schedules'])) return;
  for (const schedule of config['schedules'])
    if (isPlainObject(schedule)) resolveEvaluators(schedule, folder);
}

function resolveEnvironment(environment: unknown, folder: string): void {
  if (!isPlainObject(environment)) return;
  for (const key of ENVIRONMENT_PATHS) resolveKey(environment, key, folder);
  resolveDataset(environment['dataset'], folder);
  const { parts } = environment;
  if (!Array.isArray(parts)) return;
  for (const part of parts) if (isPlainObject(part)) resolveEnvironment(part['environment'], folder);
}

/** Models are names; one that begins like a path is a folder. */
function isPath(value: unknown): boolean {
  return typeof value === 'string' && /^(\.{1,2}|~)\//.test(value);
}

function resolveEvaluators(holder: Record<string, unknown>, folder: string): void {
  for (const list of EVALUATOR_LISTS.map((key) => holder[key]).filter((value) => Array.isArray(value))) {
    for (const evaluator of list.filter(isPlainObject)) {
      resolveDataset(evaluator['dataset'], folder);
      if (evaluator['type'] === 'inspect') resolveTasks(evaluator, folder);
    }
  }
}

/** A task is a name, or one in a file. */
function resolveTasks(evaluator: Record<string, unknown>, folder: string): void {
  const { tasks } = evaluator;
  if (!Array.isArray(tasks)) return;
  const file = (task: unknown) =>
    typeof task === 'string' && /\.(py|ipynb)(@|$)/.test(task) ? absolute(task, folder) : task;
  evaluator['tasks'] = tasks.map((task: unknown) =>
    isPlainObject(task) ? { ...task, task: file(task['task']) } : file(task),
  );
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
