import { flawOfCarried } from '../../../src/workflows/carried-shape';
import { initialState } from '../../../src/workflows/training/training-state';
import { PLAN } from './plan-of-one';

const OWN = { run: 'one', workflowId: 'train/one' };

function state(changes: object = {}): unknown {
  return { ...initialState(PLAN), ...changes };
}

test('what a run hands over is taken', () => {
  expect(flawOfCarried(state(), OWN)).toBeNull();
  expect(flawOfCarried(JSON.parse(JSON.stringify(state())), OWN)).toBeNull();
  const lost = { incarnation: 1, lineage: 0, modelId: 'a', chunkLimits: 'damaged' };
  expect(flawOfCarried(state({ lost }), OWN)).toBeNull();
});

test('another workflow, or the state of another run, takes none', () => {
  expect(flawOfCarried(state(), { ...OWN, workflowId: 'train/two' })).toContain('"train/one"');
  expect(flawOfCarried(state({ plan: { ...PLAN, run: 'two' } }), OWN)).toContain('"carried.plan.run"');
});

test.each([
  ['x', '"carried" has to be an object'],
  [[], '"carried" has to be an object'],
  [null, '"carried" has to be an object'],
  [{}, '"carried.version" has to be'],
  [state({ position: null }), '"carried.position" has to be an object'],
  [state({ pending: {} }), '"carried.pending" has to be a list'],
  [state({ cells: [null] }), '"carried.cells.0" has to be an object'],
  [state({ segment: -1 }), '"carried.segment" has to be a whole number'],
  [state({ plan: { ...PLAN, evaluations: 'x' } }), '"carried.plan.evaluations" has to be a list'],
  [state({ timedDueAt: { a: 'soon' } }), '"carried.timedDueAt.a" has to be a number'],
])('a state of the wrong type is refused by its field: %#', (carried, expected) => {
  expect(flawOfCarried(carried, OWN)).toContain(expected);
});
