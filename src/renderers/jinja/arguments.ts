import { makeEntries, makeItems } from './made-values';
import { textOf } from './python-text';
import type { Expression, Scope } from './scope';
import type { TokenReader } from './token-reader';
import { isMap, itemsOf } from './values';
import type { Keywords, Value } from './values';

/** What a function or a filter is given. */
export interface Arguments {
  readonly positional: readonly Value[];
  readonly keywords: Keywords;
}

export type ArgumentReader = (scope: Scope) => Arguments;

type Adder = (scope: Scope, into: { positional: Value[]; keywords: Map<string, Value> }) => void;

export const NO_ARGUMENTS: Arguments = { positional: [], keywords: new Map() };

/** `(a, *b, c=1, **d)`. */
export function readArguments(tokens: TokenReader, expression: () => Expression): ArgumentReader {
  const adders: Adder[] = [];
  tokens.expect('(');
  while (!tokens.skip(')')) {
    if (adders.length > 0) tokens.expect(',');
    if (tokens.skip(')')) break;
    adders.push(readArgument(tokens, expression));
  }
  return (scope) => {
    const positional: Value[] = [];
    const keywords = new Map<string, Value>();
    for (const add of adders) add(scope, { positional, keywords });
    return { positional, keywords };
  };
}

function readArgument(tokens: TokenReader, expression: () => Expression): Adder {
  if (tokens.skip('**')) return spreadKeywords(expression());
  if (tokens.skip('*')) return spread(expression());
  if (tokens.peek()?.type === 'name' && tokens.is('=', 1)) {
    const name = tokens.name();
    tokens.expect('=');
    const value = expression();
    return (scope, { keywords }) => {
      keywords.set(name, value(scope));
    };
  }
  const value = expression();
  return (scope, { positional }) => {
    positional.push(value(scope));
  };
}

function spread(values: Expression): Adder {
  return (scope, { positional }) => {
    const items = itemsOf(values(scope));
    makeItems(items.length);
    for (const item of items) positional.push(item);
  };
}

function spreadKeywords(values: Expression): Adder {
  return (scope, { keywords }) => {
    const value = values(scope);
    if (!isMap(value)) return;
    makeEntries(value.size);
    for (const [key, item] of value) keywords.set(textOf(key), item);
  };
}
