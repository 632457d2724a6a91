import { existsSync, statSync } from 'node:fs';
import path from 'node:path';
import type { InspectTask } from '../../core/benchmark-run';
import { DomainError } from '../../core/errors';
import { readCodeFile } from '../code-file';
import { digestOf } from '../digest';
import { messageOf } from '../error-message';

/** As Inspect tells a file from the name of a task in it, and where it does not look for files that fit a pattern. */
const NAMED = /^([^*?[\]]+\.(?:py|ipynb))@[\p{L}\p{N}_][\p{L}\p{N}_.-]*$/u;
const WHOLE = /^([^@*?[\]]+\.(?:py|ipynb))$/;
const PACKAGED = /^(?!hf\/)\w[\w.-]*(?:\/\w[\w.-]*)*$/;
const IMPORTED = /^[ \t]*(?:from[ \t]+([\w.]+)[ \t]+import[ \t]+([^\n#]+)|import[ \t]+([^\n#]+))/gm;

/** The file that a task stands in; null for one of a package, and for what names no task. */
export function taskFileOf(task: string): string | null {
  return (NAMED.exec(task) ?? WHOLE.exec(task))?.[1] ?? null;
}

/**
 * Refuses what Inspect would look for elsewhere than here: a folder, a pattern, a place on a hub, another file than the one before the
 * last `@`.
 */
export function requireTaskName(task: string): void {
  if (taskFileOf(task) !== null || PACKAGED.test(task)) return;
  throw new DomainError(
    'bad-config',
    `${JSON.stringify(task)} names no task of Inspect AI. Write inspect:PACKAGE/TASK or inspect:FILE.py@TASK.`,
  );
}

/** Refuses a task whose file is not there, before anything is spent on it. */
export function requireTaskFile(task: string): void {
  const file = taskFileOf(task);
  if (file !== null) readTaskFile(file);
}

/**
 * The task with a digest of its code: the file that holds it and the modules beside that file which it imports, and what those import. One of
 * a package has none here: its version says what it is.
 */
export function withSource(task: InspectTask): InspectTask {
  const file = taskFileOf(task.task);
  return file === null ? task : { ...task, source: sourceDigest(file) };
}

/** What was asked for is measured, or nothing: the result would stand under the name of other code. */
export function requireSameSource(task: InspectTask): void {
  if (task.source === undefined || withSource(task).source === task.source) return;
  throw new DomainError(
    'refused',
    `inspect:${task.task} was changed after it was asked for. Give the command again: the changed task gets a result of its own.`,
  );
}

function sourceDigest(file: string): string {
  const folder = path.dirname(file);
  const sources = new Map<string, string>();
  const pending = [file];
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    const name = path.relative(folder, next);
    if (sources.has(name)) continue;
    const text = readTaskFile(next).toString('utf8');
    sources.set(name, digestOf(text));
    pending.push(...modulesBeside(text, folder, path.dirname(next)));
  }
  return digestOf(Object.fromEntries(sources));
}

/** What the file of a task holds. */
export function readTaskFile(file: string): Buffer {
  if (!existsSync(file)) {
    throw new DomainError(
      'bad-config',
      `inspect: there is no file ${file}. Name one that is there: FILE.py@TASK.`,
    );
  }
  try {
    return readCodeFile(file);
  } catch (error) {
    throw new DomainError('bad-config', `inspect: ${messageOf(error)}. Name a file: FILE.py@TASK.`, {
      cause: error,
    });
  }
}

/** Python looks in the folder of the task's file first; what begins with a dot is beside the importing file. */
function modulesBeside(text: string, folder: string, own: string): string[] {
  const names = [...text.matchAll(IMPORTED)].flatMap(([, from, members = '', plain]) =>
    from === undefined
      ? listed(plain ?? '')
      : [from, ...listed(members).map((each) => `${from}${from.endsWith('.') ? '' : '.'}${each}`)],
  );
  const files = names.flatMap((name) => {
    const [, dots = '', rest = ''] = /^(\.*)(.*)/.exec(name) ?? [];
    const start = dots === '' ? folder : path.resolve(own, ...dots.slice(1).split('').fill('..'));
    return filesOf(
      start,
      rest.split('.').filter((part) => part !== ''),
    );
  });
  return [...new Set(files)].sort();
}

/** `a as b, (c)` names a and c. */
function listed(text: string): string[] {
  const names = text.split(',').map((each) => /[\w.]+/.exec(each)?.[0] ?? '');
  return names.filter((name) => name !== '');
}

/** A module's file, and those of the packages it is in. */
function filesOf(start: string, parts: readonly string[]): string[] {
  return parts.flatMap((_, index) => {
    const place = path.join(start, ...parts.slice(0, index + 1));
    return [`${place}.py`, path.join(place, '__init__.py')].filter(isFile);
  });
}

function isFile(place: string): boolean {
  return existsSync(place) && statSync(place).isFile();
}
