import type * as Yaml from 'yaml';
import { DomainError } from '../core/errors';
import { isPlainObject } from './config-errors';

/** Of what was typed, in a message. */
const MOST_SHOWN = 200;

type Container = Record<string, unknown> | unknown[];

/** Write each `a.b=c` into the config. The value is read as YAML (`3`, `true`, `[a, b]`, `{type: cosine}`); numbers index lists. */
export function applyOverrides(config: Record<string, unknown>, overrides: readonly string[]): void {
  const given = new Map<string, string>();
  for (const override of overrides) {
    const equals = override.indexOf('=');
    const keys = override.slice(0, equals).trim().split('.');
    if (equals < 1 || keys.some((key) => !isSafeKey(key))) {
      throw new DomainError(
        'bad-config',
        `--set ${shown(override)}: write KEY=VALUE, with dots for inner keys: --set adam.beta1=0.9.`,
      );
    }
    const key = keys.join('.');
    const before = given.get(key);
    if (before !== undefined) {
      throw new DomainError(
        'bad-config',
        `--set ${shown(override)}: ${key} is given twice, by --set ${shown(before)} too. Leave one out.`,
      );
    }
    given.set(key, override);
    write(config, { keys, value: readValue(override, override.slice(equals + 1)), override });
  }
}

function shown(override: string): string {
  return override.length <= MOST_SHOWN ? override : `${override.slice(0, MOST_SHOWN)}…`;
}

function isSafeKey(key: string): boolean {
  return key !== '' && !['__proto__', 'constructor', 'prototype'].includes(key);
}

function readValue(override: string, text: string): unknown {
  // Loaded where there is something to read: commands without --set start sooner.
  // oxlint-disable-next-line typescript/no-require-imports, typescript/consistent-type-assertions -- what `import` would have typed
  const { parseDocument } = require('yaml') as typeof Yaml;
  const document = parseDocument(text);
  if (document.errors.length > 0) throw noYaml(override);
  try {
    return document.toJS();
  } catch {
    // A word that begins with * stands for another part of a document, and there is none.
    throw noYaml(override);
  }
}

function noYaml(override: string): DomainError {
  return new DomainError(
    'bad-config',
    `--set ${shown(override)}: the value is not YAML. Quote it: --set 'key="value"'.`,
  );
}

interface Write {
  readonly keys: readonly string[];
  readonly value: unknown;
  readonly override: string;
}

function write(config: Record<string, unknown>, { keys, value, override }: Write): void {
  let place: Container = config;
  keys.slice(0, -1).forEach((key, depth) => {
    const inner: unknown = Reflect.get(place, slot(place, key, override));
    if (isPlainObject(inner) || Array.isArray(inner)) {
      place = inner;
      return;
    }
    if (inner !== undefined && inner !== null) {
      const at = keys.slice(0, depth + 1).join('.');
      throw new DomainError(
        'bad-config',
        `--set ${shown(override)}: "${at}" is ${JSON.stringify(inner)} and has no inner keys.`,
      );
    }
    const created: Container = {};
    Reflect.set(place, slot(place, key, override), created);
    place = created;
  });
  Reflect.set(place, slot(place, keys.at(-1) ?? '', override), value);
}

function slot(place: Container, key: string, override: string): string | number {
  if (!Array.isArray(place)) return key;
  const index = /^\d+$/.test(key) ? Number(key) : -1;
  if (index >= 0 && index <= place.length) return index;
  throw new DomainError(
    'bad-config',
    `--set ${shown(override)}: "${key}" is not a place in a list of ${place.length}. Use 0 to ${place.length}${!/^\d+$/.test(key) ? `, of the first "0.${key}"` : ''}.`,
  );
}
