import { ownValue } from '../../../core/own-value';
import { LiteralError } from './literal-error';
import type { PythonValue } from './python-value';

type Amount = Extract<PythonValue, { readonly type: 'int' | 'float' }>;
type Sequence = Extract<PythonValue, { readonly type: 'str' | 'list' | 'tuple' }>;

/** An expression, which may be part of a larger one. Either way of reading it may throw. */
export interface Term {
  /** As the official resolver reads it where it stands for itself. */
  readonly resolved: () => PythonValue;
  /** As Python computes it where it is an operand. */
  readonly evaluated: () => PythonValue;
  readonly isConstant: boolean;
}

const MOST_REPEATED = 100_000;

const OPERATORS: Readonly<Record<string, (left: number, right: number) => number>> = {
  '+': (left, right) => left + right,
  '-': (left, right) => left - right,
  '*': (left, right) => left * right,
  '/': (left, right) => left / right,
  '//': (left, right) => Math.floor(left / right),
  '%': (left, right) => left - Math.floor(left / right) * right,
  '**': (left, right) => left ** right,
};

/** null where the operands are none that are put together. */
const SEQUENCE_OPERATORS: Readonly<
  Record<string, (left: PythonValue, right: PythonValue) => PythonValue | null>
> = { '+': joined, '*': repeated };

/** A number, text, list or the like. */
export function literal(value: PythonValue): Term {
  return {
    resolved: () => value,
    evaluated: () => value,
    isConstant: !('items' in value || 'entries' in value),
  };
}

/** What counts as its text, and is unknown to Python where it would have to compute with it. */
export function unknownName(value: PythonValue): Term {
  const evaluated = () => {
    throw new LiteralError('an operator on a name');
  };
  return { resolved: () => value, evaluated, isConstant: false };
}

export function computed(mark: string, left: Term, right: Term): Term {
  const value = applyOperator(mark, left.evaluated(), right.evaluated());
  return { resolved: () => value, evaluated: () => value, isConstant: false };
}

/** The official resolver negates the constant that a sign of any kind stands before, and knows a sign before nothing else. */
export function signed(mark: string, operand: Term): Term {
  return {
    resolved: () => {
      if (operand.isConstant) return negated(operand.resolved());
      throw new LiteralError('a sign before no constant');
    },
    evaluated: () => {
      const value = amountOf(operand.evaluated());
      return mark === '-' ? negated(value) : value;
    },
    isConstant: false,
  };
}

/** What Python computes of two literals: numbers, or texts and lists that are put together or repeated. */
function applyOperator(mark: string, left: PythonValue, right: PythonValue): PythonValue {
  const sequence = ownValue(SEQUENCE_OPERATORS, mark)?.(left, right);
  if (sequence) return sequence;
  const [one, other] = [amountOf(left), amountOf(right)];
  const value = ownValue(OPERATORS, mark)?.(one.value, other.value);
  if (value === undefined || !Number.isFinite(value)) throw new LiteralError('no number');
  const areWhole = one.type === 'int' && other.type === 'int' && Number.isInteger(value);
  return { type: areWhole && mark !== '/' ? 'int' : 'float', value };
}

function joined(left: PythonValue, right: PythonValue): PythonValue | null {
  if (left.type === 'str' && right.type === 'str') return { type: 'str', value: left.value + right.value };
  if (!('items' in left) || !('items' in right) || left.type !== right.type) return null;
  return { type: left.type, items: [...left.items, ...right.items] };
}

function repeated(left: PythonValue, right: PythonValue): PythonValue | null {
  const [sequence, times] = isSequence(left) ? [left, right] : [right, left];
  if (!isSequence(sequence)) return null;
  const count = amountOf(times);
  if (count.type !== 'int') throw new LiteralError('repeated by no whole number');
  if (count.value * lengthOf(sequence) > MOST_REPEATED) throw new LiteralError('repeated too often');
  const whole = Math.max(0, count.value);
  if (sequence.type === 'str') return { type: 'str', value: sequence.value.repeat(whole) };
  return { type: sequence.type, items: Array.from({ length: whole }, () => sequence.items).flat() };
}

/** 0 of what is neither a text nor a list. */
export function lengthOf(value: PythonValue): number {
  if (value.type === 'str') return value.value.length;
  return 'items' in value ? value.items.length : 0;
}

function isSequence(value: PythonValue): value is Sequence {
  return value.type === 'str' || 'items' in value;
}

function negated(value: PythonValue): Amount {
  const { type, value: amount } = amountOf(value);
  return { type, value: -amount };
}

/** A truth value is 0 or 1. */
function amountOf(value: PythonValue): Amount {
  if (value.type === 'int' || value.type === 'float') return value;
  if (value.type === 'bool') return { type: 'int', value: Number(value.value) };
  throw new LiteralError('an operator on no number');
}
