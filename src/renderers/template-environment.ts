import { FIXED_DAY } from './fixed-day';
import { makeEntries, makeItems } from './jinja/made-values';
import { textOf } from './jinja/python-text';
import { JinjaTemplate } from './jinja/template';
import { TemplateError } from './jinja/template-error';
import { replacedEach } from './jinja/text-writer';
import { Callable, integerOf, isList, isMap, itemsOf, Namespace } from './jinja/values';
import type { Keywords, Value } from './jinja/values';

/** Renders one chat template with different conversations. */
export type ChatTemplate = (values: Readonly<Record<string, Value>>) => string;

/** What templates that write the date are told. */
const [YEAR = '', MONTH = '', DAY = ''] = FIXED_DAY.split('-');
const FIXED_DATE = new Map([
  ['%Y', YEAR],
  ['%y', YEAR.slice(2)],
  ['%m', MONTH],
  ['%d', DAY],
  ['%B', 'July'],
  ['%b', 'Jul'],
  ['%A', 'Friday'],
  ['%a', 'Fri'],
  ['%H', '00'],
  ['%M', '00'],
  ['%S', '00'],
]);

/** A range of more numbers than this is refused, as in Jinja's sandbox. */
const LONGEST_RANGE = 100_000;

/** So many items of a list take as much as an integer that it holds. */
const ITEMS_OF_INTEGER = 3;

export function compileTemplate(source: string): ChatTemplate {
  const template = new JinjaTemplate(source);
  return (values) => template.render({ ...GLOBALS, ...values });
}

const GLOBALS: Readonly<Record<string, Value>> = {
  raise_exception: new Callable(([message]) => {
    throw new TemplateError(textOf(message));
  }),
  strftime_now: new Callable(([format]) =>
    replacedEach(textOf(format), /%\w/g, ([part]) => FIXED_DATE.get(part) ?? part),
  ),
  range: new Callable(range),
  dict: new Callable((positional, keywords) => new Map(entriesOf(positional, keywords))),
  namespace: new Callable((positional, keywords) => {
    const entries = entriesOf(positional, keywords).map(([key, value]): [string, Value] => [
      textOf(key),
      value,
    ]);
    return new Namespace(new Map(entries));
  }),
};

function range([first, second, by]: readonly Value[]): Value {
  const bound = (value: Value) => integerOf(value, 'a bound of range()');
  const [from, to] = second === undefined ? [0, bound(first)] : [bound(first), bound(second)];
  const step = by === undefined ? 1 : bound(by);
  if (step === 0) throw new TemplateError('range() arg 3 must not be zero');
  const length = Math.max(0, Math.ceil((to - from) / step));
  if (length > LONGEST_RANGE)
    throw new TemplateError(
      `Range too big. The sandbox blocks ranges larger than MAX_RANGE (${LONGEST_RANGE}).`,
    );
  makeItems(length, ITEMS_OF_INTEGER);
  return Array.from({ length }, (_, index) => BigInt(from + index * step));
}

function entriesOf([source]: readonly Value[], keywords: Keywords): [Value, Value][] {
  makeEntries(isMap(source) ? source.size : itemsOf(source).length);
  const given = isMap(source) ? [...source] : itemsOf(source).map(pairOf);
  return [...given, ...keywords];
}

function pairOf(value: Value): [Value, Value] {
  if (!isList(value) || value.length !== 2) throw new TemplateError('a dict is made of pairs');
  return [value[0], value[1]];
}
