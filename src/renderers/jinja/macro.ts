import { Scope } from './scope';
import type { Expression } from './scope';
import type { Statement } from './statement';
import { TemplateError } from './template-error';
import { TextWriter } from './text-writer';
import { Callable, Tuple } from './values';
import type { Keywords, Value } from './values';

export interface Parameter {
  readonly name: string;
  readonly fallback: Expression | null;
}

interface Macro {
  readonly name: string;
  readonly parameters: readonly Parameter[];
  readonly body: Statement;
  /** Where it was defined. */
  readonly scope: Scope;
}

/** A function that gives the text it writes. What is given beyond its parameters is in `varargs` and `kwargs`. */
export function macroOf({ name, parameters, body, scope }: Macro): Callable {
  return new Callable((positional, keywords) => {
    const inner = new Scope(scope);
    const names = new Set(parameters.map((parameter) => parameter.name));
    const doubled = parameters.slice(0, positional.length).find((parameter) => keywords.has(parameter.name));
    if (doubled)
      throw new TemplateError(`macro '${name}' got multiple values for argument '${doubled.name}'`);
    bind(inner, parameters, { positional, keywords });
    const more = [...keywords].filter(([key]) => !names.has(key) && key !== 'caller');
    inner.set('varargs', Tuple.from(positional.slice(parameters.length)));
    inner.set('kwargs', new Map<Value, Value>(more));
    if (!names.has('caller')) inner.set('caller', keywords.get('caller'));
    const out = new TextWriter();
    body(inner, out);
    return out.text();
  });
}

interface Given {
  readonly positional: readonly Value[];
  readonly keywords: Keywords;
}

function bind(scope: Scope, parameters: readonly Parameter[], { positional, keywords }: Given): void {
  parameters.forEach(({ name, fallback }, index) => {
    const isGiven = index < positional.length || keywords.has(name);
    const value = index < positional.length ? positional[index] : keywords.get(name);
    scope.set(name, isGiven ? value : fallback?.(scope));
  });
}
