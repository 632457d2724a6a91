import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { isOwnType, missingOf } from '../../../src/workflows/input-shapes';

const training = { run: 'mine', config: {}, provenance: {} };
const evaluation = { run: 'mine', step: 3, evaluators: [], parentWorkflowId: 'train/mine' };
const checkpoint = { run: 'mine', step: 3, model: { model: 'everstep/tiny' } };
const matrix = {
  name: 'm',
  store: '/s',
  checkpoints: [checkpoint],
  benchmarks: ['a'],
  asking: {},
  parallel: 2,
};
const firing = {
  ...{ name: 'c', store: '/s', benchmarks: ['a'], model: { model: 'everstep/tiny' }, asking: {} },
  ...{ pin: { type: 'first' }, band: { type: 'test', level: 0.99 }, deadlineSeconds: 60 },
};
const cell = { row: 0, column: 0, status: 'missing', evalRun: 'm-a' };
const webhook = { url: { type: 'address', value: 'http://127.0.0.1' }, headers: {} };
const asked = { run: 'e', folder: '/s/evals/e', benchmark: 'a' };
const alone = {
  run: 'e',
  folder: '/s',
  evaluator: 'x',
  trainingRun: 'mine',
  step: 1,
  lineage: 0,
  samplerPath: '',
};

test.each([
  ['trainSupervised', training],
  ['trainSupervised', { ...training, maxHistoryEvents: 12, holdSeconds: 0, continues: true, ofLater: 7 }],
  ['trainReinforcement', { ...training, provenance: { remarks: ['so'], codeDiff: null } }],
  ['evaluateCheckpoint', evaluation],
  ['evaluateCheckpoint', { ...evaluation, evaluators: ['x'], budgets: { x: { seconds: 0.5 } } }],
  ['evaluateCheckpoint', { ...evaluation, parts: [{ schedule: 's', evaluators: ['x'] }], late: 's' }],
  ['promoteCheckpoint', { run: 'mine', request: {}, from: null }],
  ['runBenchmark', { request: { ...asked, budget: { tokens: 5 } }, useSearchAttributes: false }],
  ['runEvaluator', { request: alone }],
  ['backfill', { request: matrix }],
  ['backfill', { request: matrix, cells: [cell], maxHistoryEvents: 2000 }],
  ['canary', { request: firing }],
  ['canary', { request: { ...firing, webhook } }],
  ['askPython', { activity: 'readDataset', taskQueue: 'everstep-python', input: {} }],
])('%s begins with %j', (type, input) => {
  expect(missingOf(type, input)).toBeNull();
});

/** Type of workflow, input, and how what is wrong begins. */
type Wrong = readonly [type: string, input: unknown, missing: string];

test.each<Wrong>([
  ['trainSupervised', null, 'it is no object'],
  ['trainReinforcement', [], 'it is no object'],
  ['canary', undefined, 'it is no object'],
  ['trainSupervised', { run: 1 }, '"run" has to be a text'],
  ['trainSupervised', { run: 'mine', config: null }, '"config" has to be an object'],
  [
    'trainSupervised',
    { ...training, provenance: { remarks: [1] } },
    '"provenance.remarks.0" has to be a text',
  ],
  ['trainSupervised', { ...training, continues: 'yes' }, '"continues" has to be true or false'],
  ...[1, 0, -5, 11, 12.5, '2000', null].map((events): Wrong => [
    'trainReinforcement',
    { ...training, maxHistoryEvents: events },
    '"maxHistoryEvents" has to be a whole number, 12 or more',
  ]),
  [
    'trainSupervised',
    { ...training, holdSeconds: -1 },
    '"holdSeconds" has to be a number of seconds from 0 to',
  ],
  ['evaluateCheckpoint', { ...evaluation, evaluators: {} }, '"evaluators" has to be a list'],
  ['evaluateCheckpoint', { ...evaluation, evaluators: [7] }, '"evaluators.0" has to be a text'],
  [
    'evaluateCheckpoint',
    { ...evaluation, budgets: { x: { seconds: 'x' } } },
    '"budgets.x.seconds" has to be a number of seconds',
  ],
  ['evaluateCheckpoint', { ...evaluation, parts: 'x' }, '"parts" has to be a list'],
  [
    'evaluateCheckpoint',
    { ...evaluation, parentWorkflowId: '' },
    '"parentWorkflowId" has to be a text of 1 to',
  ],
  ['promoteCheckpoint', { run: 'mine', request: {}, from: 'x' }, '"from" has to be a number'],
  ['runBenchmark', { request: {} }, '"request.run" has to be a text'],
  ['runBenchmark', { request: { ...asked, benchmark: 5 } }, '"request.benchmark" has to be a text'],
  ['runBenchmark', { request: { ...asked, folder: 5 } }, '"request.folder" has to be a text'],
  ['runEvaluator', { request: [] }, '"request" has to be an object'],
  ['runEvaluator', { request: { ...alone, step: '1' } }, '"request.step" has to be a number'],
  ['canary', { request: {} }, '"request.name" has to be a text'],
  ['canary', { request: { ...firing, benchmarks: 'x' } }, '"request.benchmarks" has to be a list'],
  ['canary', { request: { ...firing, model: null } }, '"request.model" has to be an object'],
  ['canary', { request: { ...firing, webhook: { url: 'x' } } }, '"request.webhook.url" has to be an object'],
  ['backfill', { request: { ...matrix, checkpoints: 7 } }, '"request.checkpoints" has to be a list'],
  ['backfill', { request: { ...matrix, benchmarks: 7 } }, '"request.benchmarks" has to be a list'],
  [
    'backfill',
    { request: { ...matrix, parallel: 0 } },
    '"request.parallel" has to be a whole number from 1 to 64',
  ],
  [
    'backfill',
    { request: { ...matrix, benchmarks: Array.from({ length: 2001 }, () => 'a') } },
    '"request.benchmarks" has to be a list of at most 2000',
  ],
  [
    'backfill',
    {
      request: {
        ...matrix,
        checkpoints: Array.from({ length: 1001 }, () => matrix.checkpoints[0]),
        benchmarks: ['a', 'b'],
      },
    },
    '"request" has to be at most 2000 of "checkpoints" times "benchmarks"',
  ],
  ['backfill', { request: matrix, cells: 7 }, '"cells" has to be a list'],
  [
    'backfill',
    { request: matrix, cells: [{ ...cell, status: 'x' }] },
    '"cells.0.status" has to be one of unknown,',
  ],
  [
    'backfill',
    { request: matrix, maxHistoryEvents: 1 },
    '"maxHistoryEvents" has to be a whole number, 12 or more',
  ],
  ['askPython', { activity: 7, taskQueue: 'x' }, '"activity" has to be a text'],
  ...['everstep', 'everstep-training', 'everstep-sessions', 'everstep-preparation'].map(
    (taskQueue): Wrong => [
      'askPython',
      { activity: 'x', taskQueue },
      '"taskQueue" has to be a queue of Python workers',
    ],
  ),
])('%s of %j lacks something: %s', (type, input, missing) => {
  expect(missingOf(type, input)?.slice(0, missing.length)).toBe(missing);
});

test('a name of a field is not told at length', () => {
  const missing = missingOf('evaluateCheckpoint', { ...evaluation, budgets: { ['x'.repeat(9999)]: 7 } });

  expect(missing?.length).toBeLessThan(200);
});

test('the types are those that the workflows have', () => {
  const index = readFileSync(join(__dirname, '../../../src/workflows/index.ts'), 'utf8');
  const exported = [...index.matchAll(/export \{ (\w+) \}/g)].map(([, name = '']) => name);

  expect(exported.length).toBeGreaterThan(8);
  expect(exported.filter((name) => !isOwnType(name))).toEqual([]);
  expect(['constructor', 'toString', '__proto__', 'hasOwnProperty'].filter(isOwnType)).toEqual([]);
});

const Started = z.object({
  events: z.tuple(
    [
      z.object({
        workflowExecutionStartedEventAttributes: z.object({
          workflowType: z.object({ name: z.string() }),
          input: z.object({ payloads: z.tuple([z.object({ data: z.string() })], z.unknown()) }),
        }),
      }),
    ],
    z.unknown(),
  ),
});

describe('what releases before started workflows with', () => {
  const folder = join(__dirname, '../../histories');
  const recordings = readdirSync(folder, { recursive: true, encoding: 'utf8' });

  test.each(recordings.filter((file) => file.endsWith('.json')))(
    'is an input as it should be: %s',
    (file) => {
      const { workflowType, input } = Started.parse(JSON.parse(readFileSync(join(folder, file), 'utf8')))
        .events[0].workflowExecutionStartedEventAttributes;
      const given: unknown = JSON.parse(Buffer.from(input.payloads[0].data, 'base64').toString());

      expect(missingOf(workflowType.name, given)).toBeNull();
    },
  );
});
