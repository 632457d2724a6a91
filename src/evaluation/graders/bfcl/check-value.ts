import { ownValue } from '../../../core/own-value';
import type { DeclaredParameter } from './declared-function';
import type { ForeignLanguage } from './foreign-calls';
import { convertForeign, FOREIGN_TYPES } from './foreign-values';
import type { PythonValue } from './python-value';
import { areEqual } from './python-value';

/** What is wrong with a call, by the official checker's name of the error; null where nothing is. */
export type Fault = string | null;

export type CallLanguage = 'python' | ForeignLanguage;

type TypeName = PythonValue['type'];

const TYPES: Readonly<Record<string, TypeName>> = {
  string: 'str',
  integer: 'int',
  float: 'float',
  boolean: 'bool',
  array: 'list',
  tuple: 'list',
  dict: 'dict',
  any: 'str',
};
/** Types whose items have a declared type too. */
const LISTS: Readonly<Record<CallLanguage, readonly string[]>> = {
  python: ['array', 'tuple'],
  java: ['Array', 'ArrayList'],
  javascript: ['array'],
};
const IGNORED = /[ ,./\-_*^]/g;

/** Checks an argument against the values that are accepted for it. An accepted "" only says that it may be left out. */
export function checkValue(
  given: PythonValue,
  accepted: readonly PythonValue[],
  { parameter, language }: { readonly parameter: DeclaredParameter; readonly language: CallLanguage },
): Fault {
  const expected = typeOf(parameter.type, language);
  if (expected === null) return `type_error:${language}`;
  const isList = LISTS[language].includes(parameter.type);
  const itemType = isList && parameter.itemType !== null ? typeOf(parameter.itemType, language) : null;
  const value = valueOf(given, parameter, language);
  const typed = checkType({ value, accepted, expected, itemType });
  if (typed === 'wrong')
    return itemType === null || value.type !== 'list' ? 'type_error:simple' : 'type_error:nested';
  if (typed === 'variable') return isAmong(value, accepted) ? null : 'value_error:others';
  return checkContent(value, accepted, itemType);
}

/** null for a type that the official checker does not know or convert. */
function typeOf(name: string, language: CallLanguage): TypeName | null {
  if (language === 'python') return ownValue(TYPES, name) ?? 'str';
  return ownValue(FOREIGN_TYPES[language], name) ?? null;
}

function valueOf(
  given: PythonValue,
  { type, itemType }: DeclaredParameter,
  language: CallLanguage,
): PythonValue {
  if (language === 'python') return asExpected(given, type);
  return given.type === 'str' ? convertForeign(given.value, { language, type, itemType }) : given;
}

/** A tuple for a tuple is a list, and a whole number is a float where one is asked for. Nothing else is converted. */
function asExpected(value: PythonValue, type: string): PythonValue {
  if (type === 'tuple' && value.type === 'tuple') return { ...value, type: 'list' };
  if (type === 'float' && value.type === 'int') return { ...value, type: 'float' };
  return value;
}

interface TypeCheck {
  readonly value: PythonValue;
  readonly accepted: readonly PythonValue[];
  readonly expected: TypeName;
  readonly itemType: TypeName | null;
}

/** `variable`: of the type of the accepted values, which is not the declared one. */
function checkType({ value, accepted, expected, itemType }: TypeCheck): 'right' | 'variable' | 'wrong' {
  const acceptedType = acceptedTypeOf(accepted);
  const isVariable = acceptedType !== null && acceptedType !== expected;
  if (value.type === expected) {
    if (itemType !== null && !haveItemsType(value, accepted, itemType)) return 'wrong';
    return isVariable ? 'variable' : 'right';
  }
  return acceptedType === value.type ? 'variable' : 'wrong';
}

function acceptedTypeOf(accepted: readonly PythonValue[]): TypeName | null {
  return accepted.find((each) => !isOmitted(each))?.type ?? null;
}

function haveItemsType(value: PythonValue, accepted: readonly PythonValue[], itemType: TypeName): boolean {
  if (!('items' in value)) return false;
  return accepted.some((each) => {
    if (!('items' in each)) return true;
    return value.items.every(
      (item) =>
        checkType({ value: item, accepted: each.items, expected: itemType, itemType: null }) !== 'wrong',
    );
  });
}

function checkContent(
  value: PythonValue,
  accepted: readonly PythonValue[],
  itemType: TypeName | null,
): Fault {
  if (value.type === 'dict') return checkDict(value, accepted);
  if (value.type === 'list' && itemType === 'dict') return checkDicts(value, accepted);
  const isFound = isAmong(
    plain(value),
    value.type === 'list' ? accepted.map(plainList) : accepted.map(plain),
  );
  if (isFound) return null;
  if (value.type === 'str') return 'value_error:string';
  return value.type === 'list' ? 'value_error:list/tuple' : 'value_error:others';
}

function checkDict(value: PythonValue, accepted: readonly PythonValue[]): Fault {
  let fault: Fault = 'value_error:dict_value';
  for (const each of accepted) {
    if (each.type !== 'dict' || value.type !== 'dict') continue;
    fault = compareDicts(value.entries, each.entries);
    if (fault === null) return null;
  }
  return fault;
}

/** An accepted dict has the list of accepted values under each key. */
function compareDicts(
  given: ReadonlyMap<string, PythonValue>,
  accepted: ReadonlyMap<string, PythonValue>,
): Fault {
  for (const [key, value] of given) {
    const values = accepted.get(key);
    if (values === undefined) return 'value_error:dict_key';
    if (!isAmong(plainText(value), optionsOf(values).map(plainText))) return 'value_error:dict_value';
  }
  const missing = [...accepted].find(
    ([key, values]) => !given.has(key) && !optionsOf(values).some(isOmitted),
  );
  return missing === undefined ? null : 'value_error:dict_key';
}

function checkDicts(value: PythonValue, accepted: readonly PythonValue[]): Fault {
  let fault: Fault = 'value_error:list_dict_count';
  for (const each of accepted) {
    fault = compareDictLists(value, plainList(each));
    if (fault === null) return null;
  }
  return fault;
}

function compareDictLists(value: PythonValue, accepted: PythonValue): Fault {
  if (!('items' in accepted) || !('items' in value) || accepted.items.length !== value.items.length)
    return 'value_error:list_dict_count';
  for (const [index, item] of value.items.entries()) {
    const fault = checkDict(item, accepted.items.slice(index, index + 1));
    if (fault !== null) return fault;
  }
  return null;
}

function optionsOf(value: PythonValue): readonly PythonValue[] {
  return 'items' in value ? value.items : [value];
}

export function isOmitted(value: PythonValue): boolean {
  return value.type === 'str' && value.value === '';
}

function isAmong(value: PythonValue, accepted: readonly PythonValue[]): boolean {
  return accepted.some((each) => areEqual(value, each));
}

/** To the official checker "may be left out" is a text without characters, which equals a list without items. */
function plainList(value: PythonValue): PythonValue {
  return isOmitted(value) ? { type: 'list', items: [] } : plain(value);
}

/** Texts, also those in a list, without punctuation and case. */
function plain(value: PythonValue): PythonValue {
  return value.type === 'list' ? { ...value, items: value.items.map(plainText) } : plainText(value);
}

function plainText(value: PythonValue): PythonValue {
  if (value.type !== 'str') return value;
  return { type: 'str', value: value.value.replaceAll(IGNORED, '').toLowerCase().replaceAll("'", '"') };
}
