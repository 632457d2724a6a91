import type { ControlRow } from '../../../src/core/controls';
import { carriedState } from '../../../src/workflows/training/carried-state';
import type { TrainingState } from '../../../src/workflows/training/training-state';
import { initialState } from '../../../src/workflows/training/training-state';
import { PLAN } from './plan-of-one';

/** Each is a schedule of many steps that becomes another. */
function changes(count: number, steps: number): ControlRow[] {
  const at = Array.from({ length: steps }, (_, step) => 1e15 + step);
  return Array.from({ length: count }, (_, index) => ({
    ...{ at: `2026-01-01T00:00:${String(index).padStart(2, '0')}Z`, by: 'me', reason: 'test', step: index },
    ...{ control: 'setEvalSchedule', from: { at }, to: { at } },
  }));
}

function withControls(recentControls: ControlRow[]): TrainingState {
  return { ...initialState(PLAN), recentControls };
}

test('the state of a run travels as it is', () => {
  const state = withControls(changes(20, 5));

  expect(carriedState(state)).toEqual(state);
});

test('where it would be more than the server takes, the oldest of what is kept for queries stays behind', () => {
  const state = withControls(changes(60, 1000));

  const carried = carriedState(state);

  expect(JSON.stringify(carried).length).toBeLessThan(600_000);
  expect(carried.recentControls?.length).toBeGreaterThan(5);
  expect(carried.recentControls?.at(-1)).toBe(state.recentControls?.at(-1));
  expect({ ...carried, recentControls: [] }).toEqual({ ...state, recentControls: [] });
});
