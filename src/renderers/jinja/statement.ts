import type { Scope } from './scope';
import type { TextWriter } from './text-writer';

/** How a statement ended: on to the next, or out of the loop or its turn. */
export type Outcome = 'done' | 'break' | 'continue';

/** Writes what it stands for. */
export type Statement = (scope: Scope, out: TextWriter) => Outcome;

export function literal(text: string): Statement {
  return (_, out) => {
    out.add(text);
    return 'done';
  };
}

export function sequence(statements: readonly Statement[]): Statement {
  return (scope, out) => {
    for (const statement of statements) {
      const outcome = statement(scope, out);
      if (outcome !== 'done') return outcome;
    }
    return 'done';
  };
}
