import { keptText } from '../../../src/core/kept-checkpoints';

test.each([
  [{ keptSteps: [] }, 'none yet'],
  [{ keptSteps: [5, 10], otherCount: 2 }, '5, 10 and 2 others before them'],
  [
    { keptSteps: [], stateSteps: [0] },
    'none with weights to sample from yet; of step 0 the state alone, which training goes on from',
  ],
  [{ keptSteps: [5], stateSteps: [0] }, '5; of step 0 the state alone, which training goes on from'],
])('what a run keeps: %j', (kept, text) => {
  expect(keptText(kept)).toBe(text);
});
