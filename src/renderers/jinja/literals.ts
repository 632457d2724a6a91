import type { Expression } from './scope';
import type { Value } from './values';

/** Names that are values, as Jinja and as Python write them. */
export const LITERALS = new Map<string, Value>([
  ['true', true],
  ['True', true],
  ['false', false],
  ['False', false],
  ['none', null],
  ['None', null],
]);

export function constant(value: Value): Expression {
  return () => value;
}
