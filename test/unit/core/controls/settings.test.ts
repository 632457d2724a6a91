import { requireSettingsRequest } from '../../../../src/core/controls/settings';

const BY = { by: 'me', reason: '' };
const RATE = {
  control: 'setLearningRate',
  request: { ...BY, atStep: null, value: 1e-3, multiplier: null },
};

test('takes what each of its changes takes', () => {
  expect(() => {
    requireSettingsRequest({ ...BY, settings: [RATE, { control: 'setBudget', request: BUDGET }] });
  }).not.toThrow();
});

const BUDGET = { ...BY, limits: { tokens: 5 } };

test.each([
  [{ settings: [RATE] }, '"by" has to be a text'],
  [{ ...BY }, '"settings" has to be a list of 1 to 50'],
  [{ ...BY, settings: [] }, '"settings" has to be a list of 1 to 50'],
  [{ ...BY, settings: Array.from({ length: 51 }, () => RATE) }, '"settings" has to be a list of 1 to 50'],
  [{ ...BY, settings: [RATE, { control: 'pause' }] }, 'Unknown change "pause"'],
  [{ ...BY, settings: ['toString'] }, 'Unknown change "undefined"'],
  [
    { ...BY, settings: [{ ...RATE, request: { ...RATE.request, value: -1 } }] },
    '"value" has to be a number above 0',
  ],
])('refuses %j', (request, message) => {
  expect(() => {
    requireSettingsRequest(request);
  }).toThrow(message);
});
