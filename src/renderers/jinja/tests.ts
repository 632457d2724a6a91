import { lowered, raised } from './made-values';
import { COMPARISONS } from './operators';
import { TemplateError } from './template-error';
import { areEqual, Callable, contains, integerOf, isList, isMap, numberOf } from './values';
import type { Value } from './values';

/** `value is test(…)`. */
export type Test = (value: Value, positional: readonly Value[]) => boolean;

const isText = (value: Value): value is string => typeof value === 'string';

const TESTS = new Map<string, Test>([
  ['defined', (value) => value !== undefined],
  ['undefined', (value) => value === undefined],
  ['none', (value) => value === null],
  ['boolean', (value) => typeof value === 'boolean'],
  ['true', (value) => value === true],
  ['false', (value) => value === false],
  ['integer', (value) => typeof value === 'bigint'],
  ['float', (value) => typeof value === 'number'],
  ['number', (value) => numberOf(value) !== null],
  ['string', isText],
  ['mapping', isMap],
  ['sequence', (value) => value === undefined || isText(value) || isList(value) || isMap(value)],
  ['iterable', (value) => value === undefined || isText(value) || isList(value) || isMap(value)],
  // An undefined value has a call, which refuses.
  ['callable', (value) => value instanceof Callable || value === undefined],
  ['lower', (value) => isText(value) && value === lowered(value) && value !== raised(value)],
  ['upper', (value) => isText(value) && value === raised(value) && value !== lowered(value)],
  ['odd', (value) => Math.abs(integerOf(value, 'an odd number')) % 2 === 1],
  ['even', (value) => integerOf(value, 'an even number') % 2 === 0],
  ['divisibleby', (value, [by]) => integerOf(value, 'a number') % integerOf(by, 'a divisor') === 0],
  ['sameas', (value, [other]) => value === other],
  ['in', (value, [container]) => contains(container, value)],
  ['escaped', () => false],
  ['eq', (value, [other]) => areEqual(value, other)],
  ['equalto', (value, [other]) => areEqual(value, other)],
  ...(
    [
      ['==', '=='],
      ['ne', '!='],
      ['!=', '!='],
      ['lt', '<'],
      ['lessthan', '<'],
      ['<', '<'],
      ['le', '<='],
      ['<=', '<='],
      ['gt', '>'],
      ['greaterthan', '>'],
      ['>', '>'],
      ['ge', '>='],
      ['>=', '>='],
    ] as const
  ).map(([name, operator]): [string, Test] => [
    name,
    (value, [other]) => COMPARISONS.get(operator)?.(value, other) ?? false,
  ]),
]);

export function findTest(name: string): Test {
  const test = TESTS.get(name);
  if (test) return test;
  throw new TemplateError(`No test named '${name}'.`);
}
