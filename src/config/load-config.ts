import path from 'node:path';
import { createJiti } from 'jiti';
import type { Document } from 'yaml';
import { Lexer, parseDocument, Parser } from 'yaml';
import { DomainError } from '../core/errors';
import { isPlainObject } from './config-errors';
import { applyOverrides } from './config-overrides';
import { resolveConfigPaths } from './config-paths';
import { readConfigText } from './named-file';
import { parseTrainingConfig } from './parse-training-config';
import type { TrainingConfig } from './training-config';

export interface LoadConfigOptions {
  /** YAML, JSON, or a TypeScript or JavaScript module whose default export is the config. */
  readonly file: string;
  /** `a.b=c`; the value is read as YAML. Relative paths in them start at the current folder. */
  readonly overrides?: readonly string[];
}

/**
 * Read, complete and check a training config.
 *
 * Relative paths become absolute, starting at the config's own folder. Everything wrong with it is reported at once,
 * each thing in a line that names the key, the value and the remedy.
 */
export async function loadTrainingConfig({
  file,
  overrides = [],
}: LoadConfigOptions): Promise<TrainingConfig> {
  const written = await readConfigFile(path.resolve(file));
  if (!isPlainObject(written)) {
    throw new DomainError(
      'bad-config',
      `${file} holds no config. Write keys and values, beginning with "kind: sft".`,
    );
  }
  const config = Object.fromEntries(Object.entries(written).filter(([key]) => key !== '$schema'));
  resolveConfigPaths(config, path.dirname(path.resolve(file)));
  applyOverrides(config, overrides);
  resolveConfigPaths(config, process.cwd());
  return parseTrainingConfig(config, file);
}

/** Endings of data files. */
const ROWS = /\.(?:jsonl|ndjson|parquet|csv|tsv|arrow)(?:\.(?:gz|zst))?$/i;

async function readConfigFile(file: string): Promise<unknown> {
  if (/\.[cm]?[jt]s$/.test(file)) return importConfig(file);
  if (ROWS.test(file)) {
    throw new DomainError(
      'bad-config',
      `${file} holds rows, not a config. Write a config (\`kind: sft\`, the model, the steps) whose dataset.path names it.`,
    );
  }
  const text = await readText(file);
  refuseDeepNesting(text, file);
  const document = parseDocument(text, { prettyErrors: true });
  const [error] = document.errors;
  if (!error) return valuesOf(document, file);
  const line = error.linePos?.[0].line;
  if (error.code === 'MULTIPLE_DOCS') {
    throw new DomainError(
      'bad-config',
      `${file}${line ? `, line ${line}` : ''}: a second YAML document begins, and a file holds one config. Put it into a file of its own, or take the line --- away.`,
    );
  }
  const what = error.message.split('\n')[0]?.replace(/ at line \d+, column \d+:?$/, '') ?? error.code;
  throw new DomainError(
    'bad-config',
    `${file}${line ? `, line ${line}` : ''}: ${what}. Correct the YAML or JSON there.`,
  );
}

/** Of lists and mappings; no config of a person has a tenth of it. */
const DEEPEST_NESTING = 200;

/** Values are composed by recursion, and where the stack ends the process may, too. */
function refuseDeepNesting(text: string, file: string): void {
  const parser = new Parser();
  for (const token of new Lexer().lex(text)) {
    for (const _document of parser.next(token));
    if (parser.stack.length <= DEEPEST_NESTING) continue;
    const line = text.slice(0, parser.offset).split('\n').length;
    throw new DomainError(
      'bad-config',
      `${file}, line ${line}: lists and mappings are nested too deep. Write a config of fewer levels.`,
    );
  }
}

/** Aliases may stand for more values than there is memory for, or for themselves. */
function valuesOf(document: Document, file: string): unknown {
  try {
    const values: unknown = document.toJS();
    JSON.stringify(values);
    return values;
  } catch (cause) {
    throw new DomainError(
      'bad-config',
      `${file}: its aliases (*name) stand for too much, or for themselves. Write out what they stand for.`,
      { cause },
    );
  }
}

async function readText(file: string): Promise<string> {
  try {
    return await readConfigText(file);
  } catch (cause) {
    if (cause instanceof DomainError) throw cause;
    throw new DomainError(
      'bad-config',
      `${file} cannot be read (${reasonOf(cause)}). Give the path of a config file.`,
      {
        cause,
      },
    );
  }
}

async function importConfig(file: string): Promise<unknown> {
  await readText(file);
  try {
    return await createJiti(file, { moduleCache: false }).import(file, { default: true });
  } catch (cause) {
    throw new DomainError(
      'bad-config',
      `${file} cannot be loaded: ${reasonOf(cause)}. Export the config as default.`,
      {
        cause,
      },
    );
  }
}

function reasonOf(cause: unknown): string {
  const code: unknown = typeof cause === 'object' && cause !== null ? Reflect.get(cause, 'code') : undefined;
  if (code === 'ENOENT') return 'no such file';
  if (code === 'EISDIR') return 'it is a folder';
  const text = cause instanceof Error ? cause.message : String(cause);
  return text
    .split('\n', 1)
    .join('')
    .replace(/^Error: /, '');
}
