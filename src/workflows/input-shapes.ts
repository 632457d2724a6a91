import { CELL_STATUSES, MOST_CELLS, MOST_PARALLEL } from '../core/backfill';
import { OWN_QUEUES } from '../core/task-queues';
import type { Shape } from './shape';
import {
  anything,
  boolean,
  both,
  listOf,
  nameUpTo,
  noneOf,
  nullable,
  number,
  object,
  objectWith,
  oneOf,
  optional,
  pairsOf,
  recordOf,
  seconds,
  wholeNumber,
  words,
} from './shape';

/** With fewer, an execution may go on in a new one before it has done anything. */
const FEWEST_EVENTS = 12;
/** More at once than the server has pending of one workflow. */
const MOST_AT_ONCE = 1000;
/** What the server can count in nanoseconds. */
const MOST_SECONDS = 9e9;

/** Two of them make the id of a workflow. */
const name = nameUpTo(120);
const place = nameUpTo(300);
const index = wholeNumber(0);
const maxHistoryEvents = optional(wholeNumber(FEWEST_EVENTS));
const useSearchAttributes = optional(boolean);
const model = objectWith({ model: nameUpTo(600) });

const training = objectWith({
  run: name,
  config: object,
  provenance: objectWith({ remarks: optional(listOf(words)) }),
  useSearchAttributes,
  dataFolder: optional(words),
  maxHistoryEvents,
  continues: optional(boolean),
  endedBefore: optional(objectWith({ at: words, text: words })),
  holdSeconds: optional(seconds(0, MOST_SECONDS)),
});

const evaluators = listOf(name, MOST_AT_ONCE);

/**
 * What the input of each workflow has to be for its own code not to stumble over it; what it only hands on is looked at where it
 * is used.
 */
const SHAPES: Readonly<Record<string, Shape>> = {
  trainSupervised: training,
  trainReinforcement: training,
  evaluateCheckpoint: objectWith({
    run: name,
    step: number,
    attempt: optional(number),
    lineage: optional(number),
    samplerPath: optional(words),
    evaluators,
    request: optional(number),
    late: optional(words),
    parts: optional(listOf(objectWith({ schedule: words, evaluators }))),
    budgets: optional(
      recordOf(
        objectWith({
          tokens: optional(number),
          seconds: optional(seconds(0, MOST_SECONDS)),
          dollars: optional(number),
        }),
      ),
    ),
    parentWorkflowId: place,
  }),
  promoteCheckpoint: objectWith({ run: name, request: object, from: optional(nullable(number)) }),
  runBenchmark: objectWith({
    request: objectWith({ run: name, folder: words, benchmark: name, budget: optional(object) }),
    useSearchAttributes,
  }),
  runEvaluator: objectWith({
    request: objectWith({
      run: name,
      folder: words,
      evaluator: name,
      trainingRun: name,
      step: number,
      lineage: number,
      samplerPath: words,
      isAtOwnEngine: optional(boolean),
      rejudging: optional(object),
    }),
  }),
  backfill: objectWith({
    request: both(
      objectWith({
        name,
        store: words,
        checkpoints: listOf(
          objectWith({
            run: name,
            step: number,
            lineage: optional(number),
            model,
            paths: optional(listOf(words)),
            evalRun: optional(words),
          }),
          MOST_CELLS,
        ),
        benchmarks: listOf(name, MOST_CELLS),
        inspectTasks: optional(recordOf(object)),
        asking: object,
        parallel: wholeNumber(1, MOST_PARALLEL),
      }),
      pairsOf(['checkpoints', 'benchmarks'], MOST_CELLS),
    ),
    useSearchAttributes,
    cells: optional(
      listOf(
        objectWith({
          row: index,
          column: index,
          status: oneOf(CELL_STATUSES),
          evalRun: optional(name),
          place: optional(words),
          scores: optional(object),
          reason: optional(words),
        }),
        MOST_CELLS,
      ),
    ),
    maxHistoryEvents,
  }),
  canary: objectWith({
    request: objectWith({
      name,
      store: words,
      benchmarks: listOf(name, MOST_AT_ONCE),
      model,
      asking: object,
      pin: object,
      band: object,
      deadlineSeconds: seconds(0, MOST_SECONDS),
      webhook: optional(
        objectWith({ url: objectWith({ type: words, value: words }), headers: recordOf(words) }),
      ),
    }),
    useSearchAttributes,
  }),
  askPython: objectWith({
    activity: place,
    taskQueue: both(place, noneOf(OWN_QUEUES, "a queue of Python workers, none of Everstep's own")),
    input: optional(anything),
  }),
};

/** Types of workflows that Everstep has. */
export function isOwnType(workflowType: string): boolean {
  return Object.hasOwn(SHAPES, workflowType);
}

/** What such an input lacks, in words; null where nothing is missing. */
export function missingOf(workflowType: string, input: unknown): string | null {
  const shape = isOwnType(workflowType) ? SHAPES[workflowType] : undefined;
  return shape?.(input, '') ?? null;
}
