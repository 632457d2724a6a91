import { makeEntries, makeItems } from './made-values';
import type { Expression } from './scope';
import type { TokenReader } from './token-reader';

/** `[a, b]`, behind its opening bracket. */
export function readList(tokens: TokenReader, expression: () => Expression): Expression {
  const items: Expression[] = [];
  while (!tokens.skip(']')) {
    if (items.length > 0) tokens.expect(',');
    if (tokens.skip(']')) break;
    items.push(expression());
  }
  return (scope) => {
    makeItems(items.length);
    return items.map((item) => item(scope));
  };
}

/** `{a: b}`, behind its opening brace. */
export function readDict(tokens: TokenReader, expression: () => Expression): Expression {
  const members: (readonly [Expression, Expression])[] = [];
  while (!tokens.skip('}')) {
    if (members.length > 0) tokens.expect(',');
    if (tokens.skip('}')) break;
    const key = expression();
    tokens.expect(':');
    members.push([key, expression()]);
  }
  return (scope) => {
    makeEntries(members.length);
    return new Map(members.map(([key, value]) => [key(scope), value(scope)]));
  };
}
