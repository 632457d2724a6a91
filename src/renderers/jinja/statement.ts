import type { Scope } from './scope';

/** How a statement ended: on to the next, or out of the loop or its turn. */
export type Outcome = 'done' | 'break' | 'continue';

/** Writes what it stands for. */
export type Statement = (scope: Scope, out: string[]) => Outcome;
