import { z } from 'zod';
import { RUN_STATUSES } from '../../core/run';

/** What reads answer. Objects that may grow with the runs they tell of are open: clients pass over what they do not know. */

const status = z.enum(RUN_STATUSES);
const time = z.string().describe('ISO 8601');

export const Temporal = z
  .object({
    isReachable: z.boolean(),
    note: z.string().nullable().describe('What to know before believing an answer of the store alone'),
  })
  .meta({ id: 'TemporalPresence' });

export const RunSummary = z
  .looseObject({
    run: z.string(),
    kind: z.string(),
    model: z.string(),
    status,
    step: z.int(),
    totalSteps: z.int(),
    startedAt: time,
    closedAt: time.nullable(),
  })
  .meta({ id: 'RunSummary', description: 'A run in a list; `score` is the one it is known by' });

export const UnreadableState = z.object({ run: z.string(), file: z.string(), reason: z.string() }).meta({
  id: 'UnreadableState',
  description: 'A run whose `state.json` others wrote, cut off or took away',
});

export const MetricsRow = z
  .object({ step: z.int() })
  .catchall(z.number().nullable())
  .meta({ id: 'MetricsRow', description: 'One step: `step` counts steps done, everything else is a metric' });

export const RunReport = z
  .looseObject({
    ...RunSummary.shape,
    lineage: z.int(),
    rewinds: z.int(),
    stepsReplayed: z.int(),
    finalWeightsDigest: z.string().nullable(),
    waitingFor: z.object({ what: z.string(), since: time }).nullable(),
    waits: z
      .array(z.string())
      .optional()
      .describe('What evaluations and rollouts wait for, e.g. a judge that does not answer'),
    silentEvaluators: z
      .array(z.object({ evaluator: z.string(), steps: z.array(z.int()), since: time }))
      .optional()
      .describe('Evaluators at work that have said nothing new for two minutes, and may hang'),
    pendingEvaluations: z.int().nullable(),
    stopAt: z.int().nullable(),
    pause: z.looseObject({ step: z.int(), by: z.string(), reason: z.string() }).nullable(),
    reason: z.string().optional(),
    source: z.enum(['workflow', 'server', 'store']).describe('Who said so'),
    heardAt: time
      .nullable()
      .optional()
      .describe('When something was heard of it last, where its workflow does not answer'),
    note: z.string().nullable(),
    refusal: z.looseObject({ message: z.string(), code: z.string().nullable() }).nullable(),
  })
  .meta({ id: 'RunReport' });

export const ScoreRow = z
  .looseObject({
    step: z.int(),
    schedule: z.string(),
    evaluator: z.string(),
    metric: z.string(),
    key: z.string(),
    value: z.number().nullable(),
    stderr: z.number().nullable(),
    n: z.number(),
    clusters: z.int().optional().describe('Independent parts of n, where several hang together'),
    higherIsBetter: z.boolean().nullable(),
    ci: z.array(z.number()).length(2).optional().describe('95 % interval, where the evaluator told one'),
    at: time,
    error: z.string().optional(),
  })
  .meta({ id: 'ScoreRow' });

export const CheckpointRow = z
  .looseObject({
    name: z.string(),
    step: z.int(),
    batch: z.int(),
    epoch: z.number(),
    final: z.boolean(),
    state_path: z.string().nullable(),
    sampler_path: z.string().nullable(),
  })
  .meta({ id: 'CheckpointRow' });

export const EvaluationCell = z
  .looseObject({
    step: z.int(),
    evaluator: z.string(),
    schedules: z.array(z.string()),
    status: z.string().describe('`due`: it has no result, and the workflow does not answer'),
    error: z.string().optional(),
    heardAt: time.nullable().optional().describe('Of one that is due: when the run was heard of last'),
  })
  .meta({ id: 'EvaluationCell' });

export const ControlRow = z
  .looseObject({
    at: time,
    by: z.string(),
    reason: z.string(),
    step: z.int(),
    control: z.string(),
    from: z.unknown(),
    to: z.unknown(),
  })
  .meta({ id: 'ControlRow' });

export const TimelineEntry = z
  .looseObject({ at: time, kind: z.string(), step: z.int(), text: z.string() })
  .meta({ id: 'TimelineEntry' });

export const Receipt = z
  .looseObject({
    control: z.string(),
    step: z.int().describe('At which step it takes effect'),
    from: z.unknown(),
    to: z.unknown(),
  })
  .meta({ id: 'ControlReceipt' });

export const EvalSummary = z
  .looseObject({
    run: z.string(),
    model: z.string(),
    checkpoint: z.string().nullable(),
    status: z.string(),
    done: z.int(),
    total: z.int().nullable(),
    startedAt: time.nullable(),
    cells: z.array(
      z.looseObject({
        benchmark: z.string(),
        status: z.string(),
        done: z.int(),
        total: z.int().nullable(),
        score: z.number().nullable(),
      }),
    ),
  })
  .meta({ id: 'EvalSummary' });

export const StoredResult = z
  .looseObject({
    name: z.string(),
    score: z.number(),
    stderr: z.number().nullable(),
    ci: z.array(z.number()).length(2).nullable(),
    score_completed: z.number().nullable(),
    num_examples: z.int(),
    num_completed: z.int(),
    num_correct: z.int(),
    num_errors: z.int(),
    num_truncated: z.int(),
    metrics: z.record(z.string(), z.number()),
    pass_at_k: z.record(z.string(), z.number()),
    identity: z.looseObject({}),
  })
  .meta({ id: 'BenchmarkResult' });

export const Trajectory = z
  .looseObject({
    idx: z.int(),
    benchmark: z.string(),
    example_id: z.string(),
    turns: z.array(
      z.looseObject({
        role: z.string(),
        content: z.string().describe('What a model wrote: text, never markup'),
      }),
    ),
    reward: z.number(),
    error: z.string().nullable(),
  })
  .meta({ id: 'Trajectory' });
