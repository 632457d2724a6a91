import type { ModelIncarnation } from '../core/training-plan';
import type { ActiveRuns } from './active-runs';
import { endLife } from './fence-model';

export interface ReleaseModelInput {
  readonly run: string;
  readonly model: ModelIncarnation;
}

/** Lets go of a model whose state is saved, so that the service has room for others. Repeating it changes nothing. */
export async function releaseModel(
  runs: ActiveRuns,
  { run, model }: ReleaseModelInput,
  signal: AbortSignal,
): Promise<void> {
  await runs.use(run, ({ engine }) => endLife(engine, model, signal));
  await runs.forget(run);
}
