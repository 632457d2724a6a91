import { DomainError } from '../core/errors';
import type { RunHandle } from './run-handle';

/** The step that a person names; `best` is the one that was promoted. */
export async function promotedStep<Step extends number | null | undefined>(
  handle: Pick<RunHandle, 'best' | 'name'>,
  step: Step | 'best',
): Promise<Step | number> {
  if (step !== 'best') return step;
  const best = await handle.best();
  if (best) return best.step;
  throw new DomainError(
    'unknown-checkpoint',
    `Nobody promoted a checkpoint of run "${handle.name}". Promote one with: npx everstep runs promote ${handle.name}@STEP`,
  );
}
