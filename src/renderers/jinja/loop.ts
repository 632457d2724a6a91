import { makeItems } from './made-values';
import type { Expression, Scope } from './scope';
import type { Statement } from './statement';
import { TextWriter } from './text-writer';
import { areEqual, Attributes, Callable, isTrue, itemsOf } from './values';
import type { Value } from './values';

interface Loop {
  readonly items: Expression;
  readonly assign: (scope: Scope, value: Value) => void;
  readonly test: Expression | null;
  readonly isRecursive: boolean;
  readonly body: Statement;
  /** Written where there is no turn. */
  readonly other: Statement;
}

/** What is set in a turn is forgotten at its end. */
export function loopOver(loop: Loop): Statement {
  return (scope, out) => {
    runLoop(loop, loop.items(scope), { scope, out, depth: 0 });
    return 'done';
  };
}

interface Run {
  readonly scope: Scope;
  readonly out: TextWriter;
  readonly depth: number;
}

function runLoop(loop: Loop, value: Value, { scope, out, depth }: Run): void {
  const items = chosenOf(loop, itemsOf(value), scope);
  if (items.length === 0) loop.other(scope, out);
  const recurse = ([more]: readonly Value[]) => {
    const inner = new TextWriter();
    runLoop(loop, more, { scope, out: inner, depth: depth + 1 });
    return inner.text();
  };
  const state: LoopState = { items, index: 0, depth, changed: [] };
  const attributes = new Attributes(
    (name) => LOOP_ATTRIBUTES.get(name)?.(state),
    loop.isRecursive ? recurse : undefined,
  );
  for (; state.index < items.length; state.index++) {
    const turn = scope.inTurn();
    loop.assign(turn, items[state.index]);
    turn.set('loop', attributes);
    if (loop.body(turn, out) === 'break') return;
  }
}

function chosenOf({ test, assign }: Loop, items: readonly Value[], scope: Scope): readonly Value[] {
  if (!test) return items;
  makeItems(items.length);
  return items.filter((item) => {
    const turn = scope.inTurn();
    assign(turn, item);
    return isTrue(test(turn));
  });
}

interface LoopState {
  readonly items: readonly Value[];
  index: number;
  readonly depth: number;
  changed: readonly Value[];
}

const LOOP_ATTRIBUTES = new Map<string, (state: LoopState) => Value>([
  ['index', ({ index }) => BigInt(index + 1)],
  ['index0', ({ index }) => BigInt(index)],
  ['revindex', ({ items, index }) => BigInt(items.length - index)],
  ['revindex0', ({ items, index }) => BigInt(items.length - index - 1)],
  ['first', ({ index }) => index === 0],
  ['last', ({ items, index }) => index === items.length - 1],
  ['length', ({ items }) => BigInt(items.length)],
  ['previtem', ({ items, index }) => items[index - 1]],
  ['nextitem', ({ items, index }) => items[index + 1]],
  ['depth', ({ depth }) => BigInt(depth + 1)],
  ['depth0', ({ depth }) => BigInt(depth)],
  ['cycle', ({ index }) => new Callable((values) => values[index % values.length])],
  ['changed', (state) => new Callable((values) => hasChanged(state, values))],
]);

function hasChanged(state: LoopState, values: readonly Value[]): boolean {
  const isFirst = state.index === 0 && state.changed.length === 0;
  if (!isFirst && areEqual(state.changed, values)) return false;
  state.changed = [...values];
  return true;
}
