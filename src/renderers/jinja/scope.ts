import type { Value } from './values';

/** Variables of a template, of a loop's turn or of a macro's call; what is not set here is looked up outside. */
export class Scope {
  private readonly variables = new Map<string, Value>();

  constructor(private readonly outer: Scope | null = null) {}

  get(name: string): Value {
    return this.variables.has(name) ? this.variables.get(name) : this.outer?.get(name);
  }

  set(name: string, value: Value): void {
    this.variables.set(name, value);
  }
}

/** What an expression is worth where it stands. */
export type Expression = (scope: Scope) => Value;
