import type { BenchmarkRequest, ModelSource } from '../../core/benchmark-run';
import { DomainError } from '../../core/errors';
import { findPlan } from './benchmark-plan';
import type { OptionDifference } from './option-differences';
import { BASE_MODEL, differencesText, placeDifference } from './option-differences';

/**
 * Refuses a folder that holds what another model was asked, before anything of it is shown or started. In what else the makings
 * differ is known when the data is read.
 */
export async function refuseOtherModel(request: BenchmarkRequest): Promise<void> {
  const plan = await findPlan(request).catch(() => null);
  if (!plan) return;
  const [there, asked] = [plan.request.model, request.model];
  const differences: OptionDifference[] = [
    { what: '--model', before: there.model, now: asked.model },
    placeDifference(there, asked, { before: weightsName(there), now: weightsName(asked) }),
  ].filter(({ before, now }) => before !== now);
  if (differences.length === 0) return;
  throw new DomainError(
    'refused',
    `${request.benchmark} in ${request.folder} was begun with ${differencesText(differences)}. ` +
      'Use another --run NAME or --output DIR, or ask as before.',
  );
}

/** As the identity of a result calls them. */
function weightsName(model: ModelSource): string {
  if (model.type === 'endpoint') return model.url;
  return model.label ?? model.path ?? BASE_MODEL;
}
