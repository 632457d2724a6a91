import { requireStopRequest, resolveStop } from '../../../src/core/controls';

const BOUNDS = { sentThrough: 12, lastStep: 40, totalSteps: 40 };
const stop = (atStep: number | null) => ({ by: 'me', reason: '', atStep });

describe('the step a stop takes effect at', () => {
  test.each([
    ['now is the first step not sent', null, BOUNDS, 13],
    ['before anything was sent it is step 1', null, { ...BOUNDS, sentThrough: -1 }, 1],
    ['a step not yet sent is taken as it is', 20, BOUNDS, 20],
    ['a stop asked for before can be moved further off', 30, { ...BOUNDS, lastStep: 20 }, 30],
    ['a stop is taken back by moving it to the end', 40, { ...BOUNDS, lastStep: 20 }, 40],
  ])('%s', (_name, atStep, bounds, expected) => {
    expect(resolveStop(stop(atStep), bounds)).toBe(expected);
  });

  test.each([
    ['a step that was sent', 12, BOUNDS, /earliest step to stop at is 13/],
    ['the step it ends at anyway', 40, BOUNDS, /by itself/],
    ['a step beyond the last', 41, BOUNDS, /beyond the run's 40 steps/],
    [
      'any step once the last ones were sent',
      null,
      { ...BOUNDS, sentThrough: 40 },
      /trained or under way already/,
    ],
  ])('refuses %s', (_name, atStep, bounds, message) => {
    expect(() => resolveStop(stop(atStep), bounds)).toThrow(message);
  });
});

test.each([
  ['no object', 'stop'],
  ['no name', { reason: '', atStep: null }],
  ['a reason that is no text', { by: 'me', reason: 3, atStep: null }],
  ['a fraction of a step', { by: 'me', reason: '', atStep: 1.5 }],
  ['NaN', { by: 'me', reason: '', atStep: Number.NaN }],
  ['step 0', { by: 'me', reason: '', atStep: 0 }],
  ['no step', { by: 'me', reason: '' }],
])('refuses a request with %s', (_name, request) => {
  expect(() => {
    requireStopRequest(request);
  }).toThrow();
});
