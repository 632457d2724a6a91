import { EndlessTemplate } from './template-error';
import type { Value } from './values';

/** Of all loops of one rendering; nested ranges would go on for ever. */
const MOST_TURNS = 5_000_000;

/** Variables of a template, of a loop's turn or of a macro's call; what is not set here is looked up outside. */
export class Scope {
  private readonly variables = new Map<string, Value>();

  /** Of the whole rendering. */
  private readonly turns: { count: number };

  constructor(private readonly outer: Scope | null = null) {
    this.turns = outer?.turns ?? { count: 0 };
  }

  get(name: string): Value {
    return this.variables.has(name) ? this.variables.get(name) : this.outer?.get(name);
  }

  /** Of a loop's turn. */
  inTurn(): Scope {
    if (++this.turns.count > MOST_TURNS)
      throw new EndlessTemplate(`its loops take more than ${MOST_TURNS} turns`);
    return new Scope(this);
  }

  set(name: string, value: Value): void {
    this.variables.set(name, value);
  }
}

/** What an expression is worth where it stands. */
export type Expression = (scope: Scope) => Value;
