import { missingOf } from '../../../src/workflows/input-shapes';

test('an input has what its workflow begins with', () => {
  const training = { run: 'mine', config: {}, provenance: {} };

  expect(missingOf('trainSupervised', training)).toBeNull();
  expect(missingOf('evaluateCheckpoint', { run: 'mine', step: 3, evaluators: [] })).toBeNull();
  expect(missingOf('runBenchmark', { request: {} })).toBeNull();
});

test.each([
  ['trainSupervised', null, 'it is no object'],
  ['trainReinforcement', [], 'it is no object'],
  ['canary', undefined, 'it is no object'],
  ['trainSupervised', { run: 1 }, '"run" has to be a text'],
  ['trainSupervised', { run: 'mine', config: null }, '"config" has to be an object'],
  ['evaluateCheckpoint', { run: 'mine', step: 1, evaluators: {} }, '"evaluators" has to be a list'],
  ['runEvaluator', { request: [] }, '"request" has to be an object'],
])('%s of %j lacks something: %s', (type, input, missing) => {
  expect(missingOf(type, input)).toBe(missing);
});

test('what is no workflow of ours is left to the server', () => {
  expect(missingOf('constructor', null)).toBeNull();
});
