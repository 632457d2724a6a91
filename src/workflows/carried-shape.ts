import { trainingWorkflowId } from '../core/training-workflow-id';
import {
  boolean,
  listOf,
  nameUpTo,
  nullable,
  number,
  object,
  objectWith,
  oneOf,
  optional,
  recordOf,
  wholeNumber,
  words,
} from './shape';

const texts = listOf(words);
const ofStep = objectWith({ step: number });

const plan = objectWith({
  ...{ run: nameUpTo(120), kind: oneOf(['sft', 'rl']), model: words, startedAt: words },
  ...{ totalSteps: number, stepsPerEpoch: number, submitAhead: number },
  checkpoints: object,
  evaluations: listOf(object),
  budget: optional(object),
  samplingPrices: optional(object),
  rollouts: optional(
    objectWith({ groupsPerBatch: number, groupsPerShard: number, maxStepsOffPolicy: number }),
  ),
  remarks: optional(texts),
});

const life = objectWith({
  ...{ incarnation: number, lineage: number, sessionId: words, modelId: words, engineUrl: words },
  chunkLimits: objectWith({ maxChunkDatums: number, maxChunkBytes: number }),
});

/** It comes from the store, where anything may be; of it this is read. */
const lostLife = objectWith({ incarnation: number, lineage: number, modelId: words });

const position = objectWith({
  ...{ collectedThrough: number, submittedThrough: number, nextSeqId: number, tokens: number },
  inFlight: listOf(objectWith({ step: number, requestIds: texts })),
});

/** What the code of a training run reads first of the state that an earlier execution handed over. */
const state = objectWith({
  version: wholeNumber(1, 1),
  plan,
  status: words,
  waitingFor: nullable(objectWith({ what: words, since: words })),
  model: nullable(life),
  lost: nullable(lostLife),
  position,
  segment: wholeNumber(0),
  stepsPerSecond: nullable(number),
  ...{ rewinds: number, stepsReplayed: number, evaluatedThrough: number, scoreWrites: wholeNumber(0) },
  remarks: optional(texts),
  pending: listOf(
    objectWith({
      ...{ attempt: number, step: number, workflowId: words, samplerPath: words },
      ...{ evaluators: texts, schedules: texts, isBlocking: boolean },
    }),
  ),
  cells: listOf(ofStep),
  recentScores: listOf(ofStep),
  timedDueAt: recordOf(number),
  timedSteps: listOf(objectWith({ step: number, schedules: texts })),
  lives: optional(texts),
  sentThrough: optional(number),
  stop: optional(nullable(objectWith({ step: number, reason: words }))),
  controlWrites: optional(wholeNumber(0)),
  pause: optional(nullable(object)),
  standingSince: optional(nullable(number)),
  rates: optional(listOf(object)),
  scheduleChanges: optional(listOf(object)),
  rollouts: optional(
    objectWith({ sampledThrough: number, policy: nullable(object), retired: texts, saveCount: number }),
  ),
  requests: optional(listOf(objectWith({ request: number, step: number, evaluators: texts }))),
  budget: optional(object),
  gates: optional(recordOf(object)),
  budgetWarnings: optional(texts),
  recentControls: optional(listOf(object)),
  recentEvents: optional(listOf(object)),
  unsavedEvents: optional(listOf(object)),
});

/** What is wrong with a state that is handed over to a run's workflow, in words; null where nothing is. */
export function flawOfCarried(
  carried: unknown,
  { run, workflowId }: { readonly run: string; readonly workflowId: string },
): string | null {
  const own = trainingWorkflowId(run);
  if (workflowId !== own)
    return `the workflow ${JSON.stringify(workflowId)} is not the one of run ${JSON.stringify(run)}, whose id is ${JSON.stringify(own)}`;
  return state(carried, 'carried') ?? (isOfRun(carried, run) ? null : '"carried.plan.run" is another run');
}

function isOfRun(carried: unknown, run: string): boolean {
  return objectWith({ plan: objectWith({ run: oneOf([run]) }) })(carried, 'carried') === null;
}
