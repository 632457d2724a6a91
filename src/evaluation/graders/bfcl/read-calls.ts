import { stripEnds } from '../../../core/strip-ends';
import { textsBetween } from '../../../core/texts-between';
import type { ForeignLanguage } from './foreign-calls';
import { readForeignCall } from './foreign-calls';
import { LiteralError } from './literal-error';
import { LiteralReader } from './literal-reader';
import type { FunctionCall, PythonValue } from './python-value';

const FENCE = '```';
/** Behind an opening fence. */
const LANGUAGE = /^[\w-]*[ \t]*\r?\n?/;

/**
 * The calls of a reply: a list of Python calls as the official decoder reads it, brackets left out or not; else JSON objects with
 * `name` and `arguments` (or `{function: arguments}`), or tool calls in tags, in a code block where there is one. Null where the reply
 * is nothing of the kind.
 */
export function readCalls(reply: string): readonly FunctionCall[] | null {
  const python = readPython(reply);
  if (python !== null) return python;
  const tagged = textsBetween(reply, '<tool_call>', '</tool_call>');
  if (tagged.length > 0) return allOf(tagged.map(readText));
  const fenced = textsBetween(reply, FENCE, FENCE).at(-1);
  return readText(fenced?.replace(LANGUAGE, '') ?? reply);
}

/** One call in another language; null where the reply is none. */
export function readForeignCalls(reply: string, language: ForeignLanguage): readonly FunctionCall[] | null {
  return attempt(() => readForeignCall(reply, language));
}

function allOf(parts: readonly (readonly FunctionCall[] | null)[]): readonly FunctionCall[] | null {
  return parts.some((part) => part === null) ? null : parts.flatMap((part) => part ?? []);
}

function readText(text: string): readonly FunctionCall[] | null {
  return attempt(() => readObjects(text.trim())) ?? readPython(text);
}

function attempt(read: () => readonly FunctionCall[]): readonly FunctionCall[] | null {
  try {
    return read();
  } catch (error) {
    if (error instanceof LiteralError) return null;
    throw error;
  }
}

/** The official decoder takes backticks, blanks and line ends off, and puts brackets around what has none. */
function readPython(reply: string): readonly FunctionCall[] | null {
  const bare = stripEnds(reply, '`\n ');
  if (bare === '') return null;
  const opened = bare.startsWith('[') ? bare : `[${bare}`;
  const reader = new LiteralReader(opened.endsWith(']') ? opened : `${opened}]`);
  return attempt(() => {
    const calls = reader.calls();
    if (!reader.isAtEnd) throw new LiteralError('more than calls');
    return calls;
  });
}

function readObjects(text: string): readonly FunctionCall[] {
  if (!/^(?:\[\s*)?\{/.test(text) && !/^\[\s*\]$/.test(text)) throw new LiteralError('no objects');
  const reader = new LiteralReader(text, 'json');
  const value = reader.value();
  if (!reader.isAtEnd) throw new LiteralError('more than objects');
  const objects = 'items' in value ? value.items : [value];
  return objects.flatMap(callsOf);
}

function callsOf(value: PythonValue): readonly FunctionCall[] {
  if (value.type !== 'dict') throw new LiteralError('no object');
  const { entries } = value;
  const name = entries.get('name') ?? entries.get('function');
  const args = entries.get('arguments') ?? entries.get('parameters');
  if (name?.type === 'dict') return callsOf(name);
  if (name?.type === 'str') return [{ name: name.value, args: argumentsOf(args) }];
  return [...entries].map(([key, each]) => ({ name: key, args: argumentsOf(each) }));
}

/** Some services write the arguments as a text of JSON. */
function argumentsOf(value: PythonValue | undefined): ReadonlyMap<string, PythonValue> {
  if (value === undefined) return new Map();
  if (value.type === 'dict') return value.entries;
  if (value.type !== 'str') throw new LiteralError('no arguments');
  const reader = new LiteralReader(value.value, 'json');
  const read = reader.value();
  if (read.type !== 'dict' || !reader.isAtEnd) throw new LiteralError('no arguments');
  return read.entries;
}
