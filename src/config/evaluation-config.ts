import { z } from 'zod';
import { changesTraining } from '../core/gates/gate';
import { OVERLAPS } from '../core/schedules/evaluation-schedule';
import { BenchmarkEvaluatorParts } from './benchmark-config';
import { DatasetConfig } from './dataset-config';
import { ComparisonEvaluatorParts, JudgesConfig, ModelGradedEvaluatorParts } from './judge-config';
import { PythonNameConfig, taskQueueKey } from './python-config';

const name = z
  .string()
  .regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/, 'letters, digits, ".", "_" or "-", at most 64');

const generation = {
  maxExamples: z
    .int()
    .min(1)
    .optional()
    .describe("Use only the first examples of the evaluator's seeded order"),
  temperature: z.number().min(0).max(10).optional(),
  topP: z.number().positive().max(1).optional(),
  maxTokens: z.int().min(1).optional().describe('Tokens a completion may have'),
  concurrency: z.int().min(1).max(4096).default(64).describe('Requests in flight'),
  systemPrompt: z.string().optional(),
};

const NllEvaluatorConfig = z.strictObject({
  type: z.literal('nll').describe('Mean negative log-likelihood and bits per byte of held-out conversations'),
  name: name.default('test'),
  dataset: DatasetConfig,
  maxExamples: generation.maxExamples,
  concurrency: generation.concurrency,
});

const BenchmarkEvaluatorConfig = z.strictObject({
  type: z.literal('benchmark').describe('A benchmark of the catalogue'),
  benchmark: z.string().min(1),
  name: name.optional().describe("Default: the benchmark's name"),
  judge: JudgesConfig.optional(),
  ...BenchmarkEvaluatorParts,
  ...generation,
});

const CustomEvaluatorConfig = z.strictObject({
  type: z
    .literal('custom')
    .describe('Completions of a dataset judged by a grader function of the plug-in file'),
  name,
  grader: z
    .union([z.string().min(1), PythonNameConfig])
    .describe('Name the plug-in registers the grader under, or { python: name } of a Python worker'),
  dataset: DatasetConfig,
  ...generation,
});

const ModelGradedEvaluatorConfig = z.strictObject({
  type: z.literal('modelGraded').describe('Completions of a dataset graded by a model; see judges.md'),
  name,
  dataset: DatasetConfig,
  ...ModelGradedEvaluatorParts,
  ...generation,
});

const ComparisonEvaluatorConfig = z.strictObject({
  type: z
    .literal('comparison')
    .describe('Completions of a dataset compared with others by a judge or a preference model, both orders'),
  name,
  dataset: DatasetConfig,
  ...ComparisonEvaluatorParts,
  ...generation,
});

const PluginEvaluatorConfig = z.strictObject({
  type: z.literal('plugin').describe('An evaluator of the plug-in file: { name, kind, evaluate(client) }'),
  name,
  evaluator: z.string().min(1).describe('Name the plug-in registers the evaluator under'),
  options: z.record(z.string(), z.json()).default({}),
});

const PythonEvaluatorConfig = z.strictObject({
  type: z.literal('python').describe('An evaluator of a Python worker, see examples/python-worker'),
  name,
  evaluator: z.string().min(1).describe('Name the Python worker registers the evaluator under'),
  taskQueue: taskQueueKey,
  options: z.record(z.string(), z.json()).default({}),
});

const KindEvaluatorConfig = z.strictObject({
  type: z
    .literal('kind')
    .describe(
      'A task measured by generation or likelihood: generation, teacherForced, perplexity, choiceByPerplexity',
    ),
  task: z.string().min(1).describe('Name of the task, e.g. `blimp`, or of one of the plug-in file'),
  name: name.optional().describe("Default: the task's name"),
  options: z.record(z.string(), z.json()).default({}).describe('For a task of the plug-in file'),
  reduce: z.enum(['mean', 'sum']).default('mean').describe('How many values become one'),
  maxExamples: generation.maxExamples,
  concurrency: generation.concurrency,
});

const TestSetEvaluatorConfig = z.strictObject({
  type: z.literal('rlTestSet').describe('Rollouts of held-out environments of a reinforcement run'),
  name: name.default('environments'),
  limit: z.int().min(1).optional().describe('The first problems only'),
  groupSize: z.int().min(1).max(1024).default(1).describe('Rollouts of each problem'),
  temperature: z.number().min(0).max(10).optional().describe("Default: the run's; 0 is greedy"),
  maxTokens: z.int().min(1).optional().describe("Default: the run's"),
  deviations: z
    .boolean()
    .optional()
    .describe("Also the standard deviation over rollouts of the reward and of the environment's metrics"),
  concurrency: generation.concurrency,
});

const InspectTaskConfig = z
  .union([
    z.string().min(1),
    z.strictObject({
      task: z.string().min(1),
      args: z.record(z.string(), z.json()).default({}),
      name: z
        .string()
        .regex(/^[A-Za-z0-9][A-Za-z0-9_-]*$/)
        .max(80)
        .optional(),
    }),
  ])
  .describe('`PACKAGE/TASK` or `FILE.py@TASK`; with arguments or a name of its own `{ task, args, name }`');

const InspectEvaluatorConfig = z.strictObject({
  type: z.literal('inspect').describe('Tasks of Inspect AI, run by Inspect itself; see inspect.md'),
  name: name.default('inspect'),
  tasks: z
    .array(InspectTaskConfig)
    .min(1)
    .max(100)
    .describe('`PACKAGE/TASK` or `FILE.py@TASK`; with arguments of its own `{ task, args }`'),
  args: z.record(z.string(), z.json()).default({}).describe('Arguments of every task'),
  modelRoles: z
    .record(z.string().regex(/^\w+$/), z.union([z.string().min(1), z.record(z.string(), z.json())]))
    .default({})
    .describe(
      'Models by their role, as `inspect eval --model-role` takes them; `grader` is the judge. Default: the weights themselves',
    ),
  temperature: z.number().min(0).max(2).default(1).describe('0 is greedy'),
  maxTokens: z.int().min(1).default(1000).describe('Tokens a completion may have'),
  topP: z.number().positive().max(1).default(1).describe('1 switches it off'),
  topK: z.int().min(-1).optional().describe('-1 switches it off'),
  seed: z
    .int()
    .min(0)
    .max(2 ** 31 - 1)
    .optional()
    .describe('Of every request; default one that depends on what is asked, and how often'),
  limit: z.int().min(1).optional().describe('Only the first samples of each task'),
  epochs: z.int().min(1).max(1000).optional().describe("How often each sample is drawn; default the task's"),
  maxConnections: z.int().min(1).max(4096).default(512).describe('Requests in flight'),
  retryOnError: z.int().min(0).max(100).default(0).describe('How often a sample that fails is tried again'),
  timeoutSeconds: z.int().min(1).default(14_400).describe('Of one task'),
});

const FullEvaluatorConfig = z.discriminatedUnion('type', [
  NllEvaluatorConfig,
  BenchmarkEvaluatorConfig,
  CustomEvaluatorConfig,
  ModelGradedEvaluatorConfig,
  ComparisonEvaluatorConfig,
  PluginEvaluatorConfig,
  PythonEvaluatorConfig,
  KindEvaluatorConfig,
  InspectEvaluatorConfig,
  TestSetEvaluatorConfig,
]);

/** A bare name is short for that benchmark with its defaults. */
export const EvaluatorConfig = z.preprocess(
  (value: string | z.input<typeof FullEvaluatorConfig>) =>
    typeof value === 'string' ? { type: 'benchmark', benchmark: value } : value,
  FullEvaluatorConfig,
);
export type EvaluatorConfig = z.infer<typeof FullEvaluatorConfig>;

const level = z.number().min(0.5).max(0.9999);

/** A rule over a score, and what follows where a checkpoint does not pass. */
const GateConfig = z
  .strictObject({
    metric: z
      .string()
      .min(1)
      .max(200)
      .describe('Key of a score that one of the evaluators gives, e.g. `test/arithmetic/accuracy`'),
    rule: z
      .union([
        z.strictObject({ atLeast: z.number() }),
        z.strictObject({ atMost: z.number() }),
        z.strictObject({ notWorseThanBest: level }),
        z.strictObject({ improvesOnBase: level }),
      ])
      .describe(
        '`{ atLeast: x }`, `{ atMost: x }`, `{ notWorseThanBest: 0.95 }` or `{ improvesOnBase: 0.95 }`',
      ),
    on: z
      .enum(['interval', 'value'])
      .default('interval')
      .describe('Whether the whole 95 % interval has to follow the rule, or the value alone'),
    by: z
      .enum(['significance', 'point'])
      .optional()
      .describe(
        'What replaces the best: a score that is better with significance (default, but with `on: value`), or by its number alone',
      ),
    otherwise: z
      .union([
        z.enum(['hold', 'stop', 'pause']),
        z.strictObject({ learningRate: z.number().positive().lt(1) }),
      ])
      .default('hold')
      .describe(
        'Besides not promoting: nothing, `stop`, `pause` for a person, or `{ learningRate: 0.5 }` times the rate',
      ),
    promotes: z
      .boolean()
      .default(true)
      .describe('Promote a checkpoint that passes and is better than the best; false only decides'),
    higherIsBetter: z
      .boolean()
      .optional()
      .describe('Direction of the metric, where its evaluator does not say'),
  })
  .describe('Decides by a score whether a checkpoint is promoted; [keys](#gate)');
export type GateConfig = z.infer<typeof GateConfig>;

export const EvaluationBudgetConfig = z
  .strictObject({
    tokens: z.int().min(1).optional().describe('Tokens of prompts and completions'),
    seconds: z.number().positive().optional().describe('Wall time from when it is due'),
    dollars: z.number().positive().optional().describe('At engine.prices of the model, prefill and sampling'),
  })
  .describe('What each evaluator may use at one step; [keys](#budget-of-a-schedule)');

const blocking = 'Set mode: blocking, or otherwise: hold';

/** When evaluators run. An evaluation at step s measures the weights after s steps. */
export const ScheduleConfig = z
  .strictObject({
    name,
    every: z
      .union([
        z.strictObject({ steps: z.int().min(1) }),
        z.strictObject({ tokens: z.int().min(1) }),
        z.strictObject({ seconds: z.number().positive() }),
      ])
      .optional(),
    at: z.array(z.int().min(0)).min(1).optional().describe('Listed steps'),
    offset: z.int().min(0).default(0).describe('Shifts `every`, in its own unit'),
    atStart: z.boolean().default(true).describe('Also at step 0'),
    atEnd: z.boolean().default(true).describe('Also at the last step'),
    mode: z
      .enum(['background', 'blocking'])
      .default('background')
      .describe('blocking: training waits for the scores'),
    overlap: z
      .enum(OVERLAPS)
      .default('queue')
      .describe(
        'What one does that is due while the one before goes on: wait, be left out, or end the older one',
      ),
    evaluators: z.array(EvaluatorConfig).min(1),
    gate: GateConfig.optional(),
    budget: EvaluationBudgetConfig.optional(),
  })
  .refine((schedule) => schedule.every === undefined || schedule.at === undefined, {
    message: 'give "every" or "at", not both',
  })
  .refine(({ gate, mode }) => gate === undefined || mode === 'blocking' || !changesTraining(gate), {
    path: ['gate', 'otherwise'],
    message: `it changes training, which has to wait for the scores. ${blocking}`,
  })
  .refine(({ gate, atStart }) => gate === undefined || atStart || !('improvesOnBase' in gate.rule), {
    path: ['gate', 'rule'],
    message: 'improvesOnBase compares with step 0, which is not measured. Set atStart: true',
  });
export type ScheduleConfig = z.infer<typeof ScheduleConfig>;

/** What a run may use. It warns at four fifths of a limit and pauses at it. */
export const RunBudgetConfig = z.strictObject({
  tokens: z.number().positive().max(1e15).optional().describe('Tokens trained on'),
  seconds: z.number().positive().max(1e15).optional().describe('Wall time in which the run is not paused'),
  dollars: z.number().positive().max(1e15).optional().describe('At engine.prices of the model'),
});
export type RunBudgetConfig = z.infer<typeof RunBudgetConfig>;
