import type { Setting, SettingsRequest } from '../../core/controls/settings';
import type { ResolvedChange } from './changes';
import { budgetChange, learningRateChange, scheduleChange } from './changes';
import type { TrainingState } from './training-state';

/** Several changes as one. */
interface ResolvedSettings {
  readonly rows: readonly ResolvedChange['row'][];
  readonly apply: () => void;
}

/**
 * Works out each change on what the ones before it leave, on a draft: where one is refused, none is made. `initial` is the
 * config's peak learning rate.
 */
export function settingsChange(
  initial: number,
): (request: SettingsRequest, state: TrainingState) => ResolvedSettings {
  const resolveRate = learningRateChange(initial);
  return ({ settings }, state) => {
    const draft: TrainingState = { ...state, timedDueAt: { ...state.timedDueAt } };
    const rows = settings.map((setting) => {
      const { row, apply } = resolveOne(setting, draft, resolveRate);
      apply();
      return row;
    });
    return {
      rows,
      apply: () => {
        Object.assign(state, whatSettingsChange(draft));
      },
    };
  };
}

function resolveOne(
  setting: Setting,
  draft: TrainingState,
  resolveRate: ReturnType<typeof learningRateChange>,
): ResolvedChange {
  if (setting.control === 'setBudget') return budgetChange(setting.request, draft);
  if (setting.control === 'setLearningRate') return resolveRate(setting.request, draft);
  return scheduleChange(setting.request, draft);
}

function whatSettingsChange(draft: TrainingState): Partial<TrainingState> {
  const { timedDueAt, rates, scheduleChanges, budget, budgetWarnings } = draft;
  return {
    timedDueAt,
    ...(rates && { rates }),
    ...(scheduleChanges && { scheduleChanges }),
    ...(budget && { budget }),
    ...(budgetWarnings && { budgetWarnings }),
  };
}
