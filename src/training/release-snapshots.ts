import { DomainError } from '../core/errors';
import type { ActiveRuns } from './active-runs';
import type { EvaluationToSettle } from './record-scores';

/**
 * Deletes snapshots that only evaluations needed, once all their cells are final. A service that is away keeps
 * them; scores do not wait for that.
 */
export async function releaseSnapshots(
  runs: ActiveRuns,
  run: string,
  evaluations: readonly EvaluationToSettle[],
): Promise<void> {
  const paths = evaluations.filter(({ isCheckpoint }) => !isCheckpoint).map(({ samplerPath }) => samplerPath);
  if (paths.length === 0) return;
  try {
    await runs.use(run, async ({ engine }) => {
      for (const path of paths) await engine.client.deleteCheckpoint(path);
    });
  } catch (error) {
    if (!(error instanceof DomainError)) throw error;
  }
}
