import { LiteralError } from './literal-error';
import type { PythonValue } from './python-value';

type Amount = Extract<PythonValue, { readonly type: 'int' | 'float' }>;

const OPERATORS: Readonly<Record<string, (left: number, right: number) => number>> = {
  '+': (left, right) => left + right,
  '-': (left, right) => left - right,
  '*': (left, right) => left * right,
  '/': (left, right) => left / right,
  '//': (left, right) => Math.floor(left / right),
  '%': (left, right) => left - Math.floor(left / right) * right,
  '**': (left, right) => left ** right,
};

/** What Python computes of two literals: numbers, or texts that are put together. */
export function applyOperator(mark: string, left: PythonValue, right: PythonValue): PythonValue {
  const text = mark === '+' ? joinedText(left, right) : null;
  if (text !== null) return text;
  const value = OPERATORS[mark]?.(amountOf(left).value, amountOf(right).value);
  if (value === undefined || !Number.isFinite(value)) throw new LiteralError('no number');
  const areWhole = left.type === 'int' && right.type === 'int' && Number.isInteger(value);
  return { type: areWhole && mark !== '/' ? 'int' : 'float', value };
}

function joinedText(left: PythonValue, right: PythonValue): PythonValue | null {
  if (left.type !== 'str' || right.type !== 'str') return null;
  return { type: 'str', value: left.value + right.value };
}

export function negated(value: PythonValue): PythonValue {
  const { type, value: amount } = amountOf(value);
  return { type, value: -amount };
}

function amountOf(value: PythonValue): Amount {
  if (value.type === 'int' || value.type === 'float') return value;
  throw new LiteralError('an operator on no number');
}
