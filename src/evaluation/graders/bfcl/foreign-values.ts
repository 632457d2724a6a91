import { ownValue } from '../../../core/own-value';
import { stripEnds } from '../../../core/strip-ends';
import type { ForeignLanguage } from './foreign-calls';
import type { PythonValue } from './python-value';
import { entriesOf, nestedLists } from './script-containers';

/** What a declared type is in Python, by the official tables. */
export const FOREIGN_TYPES: Readonly<Record<ForeignLanguage, Readonly<Record<string, PythonValue['type']>>>> =
  {
    java: {
      byte: 'int',
      short: 'int',
      integer: 'int',
      float: 'float',
      double: 'float',
      long: 'int',
      boolean: 'bool',
      char: 'str',
      Array: 'list',
      ArrayList: 'list',
      HashMap: 'dict',
      String: 'str',
      any: 'str',
    },
    javascript: {
      String: 'str',
      integer: 'int',
      float: 'float',
      Bigint: 'int',
      Boolean: 'bool',
      dict: 'dict',
      array: 'list',
      any: 'str',
    },
  };

const DECIMAL = String.raw`-?\d+(?:\.\d+)?`;
const EXPONENT = String.raw`(?:[eE][+-]?\d+)?`;
const WHOLE = /^-?\d+$/;
const LONG = /^-?\d+[lL]$/;
const BIG = /^-?\d+n$/;
const FLOAT = new RegExp(`^${DECIMAL}${EXPONENT}[fF]$`);
const DOUBLE = new RegExp(`^${DECIMAL}${EXPONENT}$`);
const NUMBER = new RegExp(`^${DECIMAL}$`);

type NumberForm = readonly [RegExp, 'int' | 'float'];

const NUMBERS: Readonly<Record<ForeignLanguage, Readonly<Record<string, NumberForm>>>> = {
  java: {
    byte: [WHOLE, 'int'],
    short: [WHOLE, 'int'],
    integer: [WHOLE, 'int'],
    long: [LONG, 'int'],
    float: [FLOAT, 'float'],
    double: [DOUBLE, 'float'],
  },
  javascript: { integer: [WHOLE, 'int'], float: [NUMBER, 'float'], Bigint: [BIG, 'int'] },
};

export interface ForeignType {
  readonly language: ForeignLanguage;
  readonly type: string;
  readonly itemType: string | null;
}

type Convert = (text: string, itemType: string | null) => PythonValue;

const CONVERTERS: Readonly<Record<string, Convert>> = {
  boolean: truthValue,
  Boolean: truthValue,
  Array: javaArray,
  ArrayList: javaList,
  HashMap: javaMap,
  array: (text, itemType) => scriptArray(text.trim(), itemType),
  dict: (text) => scriptDict(text.trim()),
};

/** The text of a value as the official converters read it; what they cannot read stays text. */
export function convertForeign(text: string, { language, type, itemType }: ForeignType): PythonValue {
  const number = NUMBERS[language][type];
  if (number) return number[0].test(text) ? amount(text, number[1]) : asText(text);
  const convert = ownValue(CONVERTERS, type);
  if (convert) return convert(text, itemType);
  return asText(language === 'javascript' && type === 'String' ? unquoted(text) : text);
}

function truthValue(text: string): PythonValue {
  return text === 'true' || text === 'false' ? { type: 'bool', value: text === 'true' } : asText(text);
}

function asText(value: string): PythonValue {
  return { type: 'str', value };
}

function amount(text: string, type: 'int' | 'float'): PythonValue {
  return { type, value: Number(text.replace(/[lLfFn]$/, '')) };
}

function unquoted(text: string): string {
  return isQuoted(text) ? text.slice(1, -1) : text;
}

function isQuoted(text: string): boolean {
  return text.length > 1 && /^(["'])[^]*\1$/.test(text);
}

function javaArray(text: string, itemType: string | null): PythonValue {
  const inside = /new\s+\w+\[\]\s*\{(.*?)\}/.exec(text)?.[1];
  if (inside === undefined) return asText(text);
  const parts = inside.split(',').map((part) => part.trim());
  return { type: 'list', items: parts.filter(Boolean).map((part) => javaItem(part, itemType)) };
}

function javaItem(text: string, itemType: string | null): PythonValue {
  return itemType === null
    ? anyValue(text, 'java')
    : convertForeign(text, { language: 'java', type: itemType, itemType: null });
}

function javaList(text: string, itemType: string | null): PythonValue {
  const listed = /new\s+ArrayList<\w*>\(Arrays\.asList\((.+?)\)\)/.exec(text)?.[1];
  if (listed !== undefined)
    return { type: 'list', items: listed.split(',').map((part) => javaListItem(part.trim(), itemType)) };
  return /new\s+ArrayList<\w*>\(\)/.test(text) ? { type: 'list', items: [] } : asText(text);
}

/** Quotes are taken off without looking at them. */
function javaListItem(text: string, itemType: string | null): PythonValue {
  return itemType === 'char' || itemType === 'String' ? asText(text.slice(1, -1)) : javaItem(text, itemType);
}

/** Entries stand in the body of a class, which never gets here. */
function javaMap(text: string): PythonValue {
  return /new\s+HashMap<.*?>\s*\(\)/.test(text) ? { type: 'dict', entries: new Map() } : asText(text);
}

const ARRAY = /^(?:\[(.*?)\]|new\s+Array\((.*?)\))/;

function scriptArray(text: string, itemType: string | null): PythonValue {
  const nested = nestedLists(text);
  if (nested !== null) return nestedScriptArray(nested);
  const found = ARRAY.exec(text);
  if (!found) return asText(text);
  const inside = (found[1] ?? found[2] ?? '').trim();
  const parts = inside === '' ? [] : inside.split(',').map((part) => part.trim());
  const read = (part: string) =>
    itemType === null
      ? anyValue(part, 'javascript')
      : convertForeign(part, { language: 'javascript', type: itemType, itemType: null });
  return { type: 'list', items: parts.map(read) };
}

function nestedScriptArray(text: string): PythonValue {
  const inner = [...text.matchAll(/\[(.*?)\]/g)].map((match) => (match[1] ?? '').trim().replace(/^\[/, ''));
  const items = inner.map((part): PythonValue => ({
    type: 'list',
    items: part.split(',').map((each) => anyValue(each.trim(), 'javascript')),
  }));
  return { type: 'list', items };
}

function scriptDict(text: string): PythonValue {
  if (text === '{}') return { type: 'dict', entries: new Map() };
  const content = /^\{(.*?)\}/.exec(text)?.[1];
  if (content === undefined) return asText(text);
  const entries = entriesOf(content).map(([name, value]): [string, PythonValue] => [
    withoutQuotes(name),
    scriptEntry(value),
  ]);
  return { type: 'dict', entries: new Map(entries) };
}

function scriptEntry(text: string): PythonValue {
  if (text.startsWith('[') && text.endsWith(']')) return scriptArray(text, null);
  if (text.startsWith('{') && text.endsWith('}')) return scriptDict(text);
  return anyValue(withoutQuotes(text), 'javascript');
}

function withoutQuotes(text: string): string {
  return stripEnds(text, `'"`);
}

/** A value of no declared type. */
function anyValue(text: string, language: ForeignLanguage): PythonValue {
  if (text === 'true' || text === 'false') return truthValue(text);
  if (isQuoted(text) && (language === 'javascript' || text.startsWith('"'))) return asText(text.slice(1, -1));
  return (language === 'java' ? javaNumber(text) : null) ?? plainNumber(text) ?? asText(text);
}

function javaNumber(text: string): PythonValue | null {
  if (LONG.test(text)) return amount(text, 'int');
  return FLOAT.test(text) ? amount(text, 'float') : null;
}

function plainNumber(text: string): PythonValue | null {
  if (/^[+-]?\d+$/.test(text)) return { type: 'int', value: Number(text) };
  const isNumber = /^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?$/.test(text);
  return isNumber ? { type: 'float', value: Number(text) } : null;
}
