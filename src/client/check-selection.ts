import { DomainError } from '../core/errors';
import type { StepSelection } from '../stores/step-rows';
import type { Known } from './known-options';
import { requireKnownOptions } from './known-options';

const ALTERNATIVES = ['last', 'every', 'points', 'steps'] as const;

const SELECTION: Known<StepSelection> = {
  from: true,
  to: true,
  last: true,
  every: true,
  points: true,
  steps: true,
};

/** Refuses a selection that contradicts itself; one that selects nothing is an empty answer. */
export function checkSelection(call: 'metrics' | 'timing', selection: StepSelection): StepSelection {
  requireKnownOptions(call, selection, SELECTION);
  const { from, to } = selection;
  if (from !== undefined && to !== undefined && from > to) {
    throw new DomainError('bad-config', `--from ${from} is after --to ${to}. Give the first step first.`);
  }
  const given = ALTERNATIVES.filter((key) => selection[key] !== undefined);
  if (given.length > 1) {
    throw new DomainError('bad-config', `${given.map((key) => `--${key}`).join(' and ')}: give one of them.`);
  }
  for (const key of ['last', 'every', 'points'] as const) {
    const count = selection[key];
    if (count !== undefined && !(Number.isInteger(count) && count >= (key === 'last' ? 0 : 1))) {
      throw new DomainError('bad-config', `--${key} ${count}: give a whole number, 1 or more.`);
    }
  }
  return selection;
}
