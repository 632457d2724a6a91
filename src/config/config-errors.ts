import type { z } from 'zod';
import { DomainError } from '../core/errors';
import { escapeControls } from '../core/escape-controls';
import { nearestKey } from '../core/nearest-key';
import { fieldSpelling } from './field-spellings';
import { isWholeNumberAt, knownKeysAt } from './known-keys';

type Issue = z.core.$ZodIssue;
type Path = readonly PropertyKey[];

/** What `explainIssues` needs to know about the config that was refused. */
export interface RefusedConfig {
  readonly schema: z.ZodType;
  /** As the person wrote it. */
  readonly value: unknown;
}

/** One line for each thing wrong: key, value, and what to write instead. */
export function explainIssues(issues: readonly Issue[], refused: RefusedConfig): string[] {
  return [...new Set(strictest(issues).flatMap((issue) => explainIssue(issue, issue.path, refused)))];
}

/** Everything wrong at once; `source` is how messages call what was refused. */
export function configError(source: string, problems: readonly string[]): DomainError {
  const [first = ''] = problems;
  return new DomainError(
    'bad-config',
    problems.length === 1
      ? `${source}: ${first}`
      : `${source} has ${problems.length} problems:\n${problems.map((problem) => `  - ${problem}`).join('\n')}`,
  );
}

/** A whole number beyond every bound is also beyond what is exact: of two bounds on one side the last is the key's own. */
function strictest(issues: readonly Issue[]): Issue[] {
  const lastBounds = new Map(issues.filter(isBound).map((issue) => [placeOfBound(issue), issue]));
  return issues.filter((issue) => !isBound(issue) || lastBounds.get(placeOfBound(issue)) === issue);
}

function isBound({ code }: Issue): boolean {
  return code === 'too_big' || code === 'too_small';
}

function placeOfBound({ code, path }: Issue): string {
  return JSON.stringify([code, ...path.map(String)]);
}

function explainIssue(issue: Issue, path: Path, refused: RefusedConfig): string[] {
  if (issue.code === 'unrecognized_keys') {
    return issue.keys.map((unknown) => explainUnknownKey(unknown, path, refused));
  }
  if (issue.code === 'invalid_union') return explainUnion(issue, path, refused);
  const key = formatPath(path);
  if (issue.code === 'invalid_type') return [explainType(path, issue.expected, refused)];
  const remedy = valueRemedy(issue);
  return [remedy === undefined ? `${key}: ${issue.message}.` : `${key} is ${show(issue.input)}. ${remedy}`];
}

function valueRemedy(issue: Issue): string | undefined {
  if (issue.code === 'invalid_value') return `Use ${listed(issue.values.map(String))}.`;
  if (issue.code === 'too_small') return bound(issue.origin, 'at least', issue);
  if (issue.code === 'too_big') return bound(issue.origin, 'at most', issue);
  if (issue.code === 'invalid_format') return formatRemedy(issue);
  return undefined;
}

function explainUnknownKey(unknown: string, path: Path, { schema, value }: RefusedConfig): string {
  const known = knownKeysAt(schema, value, path);
  const key = formatPath([...path, unknown]);
  const spelling = fieldSpelling(unknown, known);
  if (spelling) {
    const instead = spelling.ours && `write "${formatPath(placeOf(spelling.ours.split('.'), path, known))}"`;
    const remedy = [instead, spelling.remedy].filter((part) => part !== undefined).join(': ');
    return `Unknown key "${key}": ${remedy}.`;
  }
  // Of another form of the same part.
  if (path.length > 0 && known.includes(unknown)) {
    return `"${key}" does not go with what stands beside it. Leave one of them out, with --set by giving "${formatPath(path)}" as a whole.`;
  }
  const nearest = nearestKey(unknown, known);
  return nearest
    ? `Unknown key "${key}". Did you mean "${formatPath([...path, nearest])}"?`
    : `Unknown key "${key}". Known here: ${known.join(', ')}.`;
}

/** Spellings name our keys from the top; where the key stood inside what they name, from there. */
function placeOf(ours: readonly string[], path: Path, known: readonly string[]): Path {
  const [first = '', ...rest] = ours;
  if (known.includes(first)) return [...path, ...ours];
  const isInside = path.at(-1) === first && known.includes(rest[0] ?? '');
  return isInside ? [...path, ...rest] : ours;
}

function explainUnion(issue: z.core.$ZodIssueInvalidUnion, path: Path, refused: RefusedConfig): string[] {
  const ofTypes = explainDiscriminator(issue, path, refused);
  if (ofTypes) return ofTypes;
  const closest = [...issue.errors].sort((left, right) => left.length - right.length)[0];
  const keys = knownKeysAt(refused.schema, refused.value, path);
  const [first] = closest ?? [];
  const ofValues = issue.errors.find((errors) => areOfValues(errors, issue.input));
  if (ofValues) return ofValues.flatMap((inner) => explainIssue(inner, [...path, ...inner.path], refused));
  if (isPlainObject(issue.input) && keys.length > 0) {
    return [`${formatPath(path)} is ${show(issue.input)}. Give exactly one of ${keys.join(', ')}.`];
  }
  if (!first) return [`${formatPath(path)}: ${issue.message}.`];
  const explained = explainIssue(first, [...path, ...first.path], refused);
  if (keys.length === 0 || first.path.length > 0) return explained;
  const orMapping = `, or { ${keys.map((key) => `${key}: …`).join(', ')} }.`;
  return explained.map((line) => line.replace(/\.$/, orMapping));
}

/** Of a mapping whose form its `type` decides; null of any other union. */
function explainDiscriminator(
  issue: z.core.$ZodIssueInvalidUnion,
  path: Path,
  { value }: RefusedConfig,
): string[] | null {
  if (!('options' in issue) || !Array.isArray(issue.options)) return null;
  const found = valueAt(value, path) ?? nothingBut(valueAt(value, path.slice(0, -1)));
  return [`${formatPath(path)} is ${show(found)}. Use ${listed(issue.options.map(String))}.`];
}

/** A mapping that lacks the key has no value there; anything else stands where the mapping belongs, e.g. the word `cos`. */
function nothingBut(value: unknown): unknown {
  return isPlainObject(value) ? undefined : value;
}

/** Whether the keys are those of this form, and only what they hold is wrong. */
function areOfValues(errors: readonly Issue[], input: unknown): boolean {
  return (
    errors.length > 0 && errors.every(({ path }) => path.length > 0 && valueAt(input, path) !== undefined)
  );
}

function explainType(path: Path, expected: string, { schema, value }: RefusedConfig): string {
  const key = formatPath(path);
  const found = valueAt(value, path);
  if (typeof found === 'string' && expected === 'object') {
    const isPlace = knownKeysAt(schema, value, path).includes('path');
    if (isPlace) return `${key} is ${show(found)}. Write { path: ${found} }.`;
  }
  const isWhole = expected === 'number' && isWholeNumberAt(schema, value, path);
  const wanted = TYPE_NAMES[isWhole ? 'int' : expected] ?? expected;
  return `${key} is ${found === undefined ? 'missing' : show(found)}. Give ${wanted}.`;
}

const TYPE_NAMES: Readonly<Record<string, string>> = {
  array: 'a list',
  boolean: 'true or false',
  int: 'a whole number',
  number: 'a number',
  object: 'a mapping of keys to values',
  record: 'a mapping of keys to values',
  string: 'a text',
};

interface Bound {
  readonly minimum?: number | bigint;
  readonly maximum?: number | bigint;
  readonly inclusive?: boolean;
}

function bound(origin: string, words: 'at least' | 'at most', issue: Bound): string {
  const limit = String(words === 'at least' ? issue.minimum : issue.maximum);
  if (origin === 'array') return `Give ${words} ${limit} of them.`;
  if (origin === 'string') return `Give ${words} ${limit} ${limit === '1' ? 'character' : 'characters'}.`;
  if (issue.inclusive === false) return `Give a number ${words === 'at least' ? 'above' : 'below'} ${limit}.`;
  return `Give a number of ${words} ${limit}.`;
}

function formatRemedy(issue: z.core.$ZodIssueInvalidStringFormat): string {
  if (issue.format === 'url') return 'Give a URL such as http://127.0.0.1:8000.';
  if (issue.format === 'date') return 'Give a day such as 2026-01-31.';
  return `Give ${issue.message}.`.replace('Give must', 'It must');
}

function listed(values: readonly string[]): string {
  return values.length === 1 ? `"${values[0] ?? ''}"` : `one of ${values.join(', ')}`;
}

/** `evaluators[0].dataset.path`, as `--set` takes it with dots. */
function formatPath(path: Path): string {
  const text = path.map((part) => (typeof part === 'number' ? `[${part}]` : `.${String(part)}`)).join('');
  return text === '' ? 'The config' : escapeControls(text.replace(/^\./, ''));
}

function valueAt(value: unknown, path: Path): unknown {
  return path.reduce<unknown>(
    (inner, part) => (isContainer(inner) ? Reflect.get(inner, part) : undefined),
    value,
  );
}

function isContainer(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}

export function isPlainObject(value: unknown): value is Record<string, unknown> {
  return isContainer(value) && !Array.isArray(value);
}

function show(value: unknown): string {
  if (value === undefined) return 'missing';
  // JSON has no word for NaN and infinities.
  const text = typeof value === 'number' ? String(value) : JSON.stringify(value);
  return text.length > 80 ? `${text.slice(0, 77)}…` : text;
}
