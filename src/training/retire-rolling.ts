import { DomainError } from '../core/errors';
import type { SegmentDependencies } from './segment-contract';
import type { PlannedStep } from './step-plan';

/** Only the newest rolling checkpoint is kept. One that cannot be deleted expires by itself. */
export async function retireRolling(
  { client, journals }: Pick<SegmentDependencies, 'client' | 'journals'>,
  { checkpoint }: Pick<PlannedStep, 'checkpoint'>,
): Promise<void> {
  const path = checkpoint ? journals.retiredBy(checkpoint.name) : null;
  if (path === null) return;
  try {
    await client.deleteCheckpoint(path);
  } catch (error) {
    if (!(error instanceof DomainError)) throw error;
  }
}
