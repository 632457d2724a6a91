import path from 'node:path';
import type { InspectTask } from '../../core/benchmark-run';
import { DomainError } from '../../core/errors';
import { digestOf } from '../digest';
import { requireTaskName, taskFileOf } from './task-source';

const PREFIX = 'inspect:';
/** A query's key that is no argument: Python has no names like it. */
const ROLE_KEY = 'model-role';
const LONGEST = 80;
const DIGEST_LENGTH = 8;

/** A task, and what a person calls it; null leaves that to us. */
export interface AskedTask {
  readonly task: InspectTask;
  readonly name: string | null;
}

/** `inspect:TASK` or `inspect:TASK?name=value&…` as a task; null for any other name. */
export function readInspectTask(name: string): InspectTask | null {
  if (!name.startsWith(PREFIX)) return null;
  const [task, query = ''] = splitAt(name.slice(PREFIX.length), '?');
  requireTaskName(task);
  const entries = [...new URLSearchParams(query)];
  const args = entries
    .filter(([key]) => key !== ROLE_KEY)
    .map(([key, value]) => [key, valueOf(value)] as const);
  const roles = entries.filter(([key]) => key === ROLE_KEY).map(([, value]) => readRole(value));
  return {
    task,
    args: Object.fromEntries(args),
    ...(roles.length > 0 && { roles: Object.fromEntries(roles) }),
  };
}

function readRole(text: string): readonly [string, string] {
  const [role, model] = splitAt(text, '=');
  if (/^\w+$/.test(role) && model) return [role, model];
  throw new DomainError(
    'bad-config',
    `${ROLE_KEY}=${text}: write ${ROLE_KEY}=ROLE=MODEL, e.g. ${ROLE_KEY}=grader=openai/gpt-4o.`,
  );
}

/** The same name for the same task, wherever it is asked for: files by their absolute path. */
export function absoluteInspectName(name: string, folder: string): string | null {
  if (!name.startsWith(PREFIX)) return null;
  const [task, query] = splitAt(name.slice(PREFIX.length), '?');
  requireTaskName(task);
  const place = taskFileOf(task) === null ? task : path.resolve(folder, task);
  return `${PREFIX}${place}${query === undefined ? '' : `?${query}`}`;
}

interface InspectBenchmark {
  /** E.g. `inspect_gsm8k`; a `gsm8k` of ours is another. */
  readonly benchmark: string;
  readonly inspectTask: InspectTask;
}

/** Tasks of one command, under names of their own among its benchmarks; null for what is none of Inspect. */
export function inspectBenchmarks(names: readonly string[]): (InspectBenchmark | null)[] {
  const tasks = names.map(readInspectTask);
  const free = distinctTaskNames(tasks.flatMap((task) => (task ? [{ task, name: null }] : [])));
  return tasks.map((inspectTask) => {
    if (!inspectTask) return null;
    return { benchmark: `inspect_${(free.shift() ?? '').replaceAll('-', '_')}`, inspectTask };
  });
}

/**
 * A name for each task that no other has: the shortest that tells it from all others, of the task, the file or package, the folder, and at last
 * a digest of its arguments.
 */
export function distinctTaskNames(tasks: readonly AskedTask[]): string[] {
  const names = tasks.map(namesOf);
  return names.map((candidates, index) => {
    const others = names.filter((_, other) => other !== index);
    const isFree = (name: string) => others.every((each) => !each.map(comparable).includes(comparable(name)));
    return candidates.find(isFree) ?? candidates.at(-1) ?? '';
  });
}

/** Files are alike that differ in case alone, and benchmarks that differ in a hyphen. */
function comparable(name: string): string {
  return name.replaceAll('-', '_').toLowerCase();
}

/** From the shortest to the most certain; as many for each task. */
function namesOf({ task, name }: AskedTask): readonly string[] {
  const short = name ?? shortTaskName(task.task);
  const [file = ''] = task.task.split('@');
  const parts = file
    .replace(/\.(py|ipynb)$/, '')
    .split('/')
    .filter((part) => part !== '');
  // The last part of a package's task is its name.
  const [parent = '', folder = ''] = (task.task.includes('@') ? parts : parts.slice(0, -1)).reverse();
  const digest = digestOf([task.task, task.args, task.roles ?? {}]).slice(0, DIGEST_LENGTH);
  return [
    short,
    plainName([parent, short]),
    plainName([folder, parent, short]),
    `${short.slice(0, LONGEST - DIGEST_LENGTH - 1)}-${digest}`,
  ];
}

/** The last part of a task's name, fit for a folder: `inspect_evals/gsm8k` and `/tasks/math.py@gsm8k` are `gsm8k`. */
export function shortTaskName(task: string): string {
  const [, inFile] = /\.(?:py|ipynb)@(.+)$/.exec(task) ?? [];
  const name = inFile ?? (task.split('/').at(-1) ?? task).replace(/\.(py|ipynb)$/, '');
  const plain = plainName([name]);
  if (plain !== '') return plain;
  throw new DomainError(
    'bad-config',
    `"${task}" names no task of Inspect AI. Write inspect:PACKAGE/TASK or inspect:FILE.py@TASK.`,
  );
}

function plainName(parts: readonly string[]): string {
  return parts
    .filter((part) => part !== '')
    .join('-')
    .replace(/[^A-Za-z0-9_-]+/g, '-')
    .replace(/^[-_]+/, '')
    .slice(0, LONGEST);
}

/** As `inspect eval -T` reads values. */
function valueOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

function splitAt(text: string, mark: string): readonly [string, string?] {
  const at = text.indexOf(mark);
  return at < 0 ? [text] : [text.slice(0, at), text.slice(at + 1)];
}
