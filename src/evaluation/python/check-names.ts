import { z } from 'zod';
import { DomainError } from '../../core/errors';
import type { PythonName } from '../../core/python';
import { pythonQueue } from '../../core/python';
import type { PythonLink } from './python-link';

/** Something a config names that a Python worker has to have. */
export interface NeededPythonName extends PythonName {
  readonly kind: 'grader' | 'evaluator';
}

const PATIENCE_MS = 15_000;

const Names = z.object({ graders: z.array(z.string()), evaluators: z.array(z.string()) });

/** Refuses names that the Python workers of their queue do not have; one that is not there yet is told of. */
export async function checkPythonNames(link: PythonLink, needed: readonly NeededPythonName[]): Promise<void> {
  for (const taskQueue of new Set(needed.map(pythonQueue))) {
    const answer = await link.ask(
      { activity: 'listNames', taskQueue, input: {} },
      { patienceMs: PATIENCE_MS },
    );
    const { graders, evaluators } = Names.parse(answer);
    const known = { grader: graders, evaluator: evaluators };
    for (const { kind, python } of needed.filter((name) => pythonQueue(name) === taskQueue)) {
      if (!known[kind].includes(python)) throw unknown(kind, python, known[kind]);
    }
  }
}

function unknown(kind: string, name: string, known: readonly string[]): DomainError {
  return new DomainError(
    'unknown-evaluator',
    `evaluators: the Python worker has no ${kind} "${name}". It has: ${known.join(', ') || 'none'}.`,
  );
}
