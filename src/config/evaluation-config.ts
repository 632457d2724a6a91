import { z } from 'zod';
import { DatasetConfig } from './dataset-config';

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
  ...generation,
});

const CustomEvaluatorConfig = z.strictObject({
  type: z
    .literal('custom')
    .describe('Completions of a dataset judged by a grader function of the plug-in file'),
  name,
  grader: z.string().min(1).describe('Name the plug-in registers the grader under'),
  dataset: DatasetConfig,
  ...generation,
});

const PluginEvaluatorConfig = z.strictObject({
  type: z.literal('plugin').describe('An evaluator of the plug-in file: { name, kind, evaluate(client) }'),
  name,
  evaluator: z.string().min(1).describe('Name the plug-in registers the evaluator under'),
  options: z.record(z.string(), z.json()).default({}),
});

const FullEvaluatorConfig = z.discriminatedUnion('type', [
  NllEvaluatorConfig,
  BenchmarkEvaluatorConfig,
  CustomEvaluatorConfig,
  PluginEvaluatorConfig,
]);

/** A bare name is short for that benchmark with its defaults. */
export const EvaluatorConfig = z.preprocess(
  (value) => (typeof value === 'string' ? { type: 'benchmark', benchmark: value } : value),
  FullEvaluatorConfig,
);
export type EvaluatorConfig = z.infer<typeof FullEvaluatorConfig>;

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
    offset: z.int().min(0).default(0).describe('Shifts `every.steps`'),
    atStart: z.boolean().default(true).describe('Also at step 0'),
    atEnd: z.boolean().default(true).describe('Also at the last step'),
    mode: z
      .enum(['background', 'blocking'])
      .default('background')
      .describe('blocking: training waits for the scores'),
    evaluators: z.array(EvaluatorConfig).min(1),
  })
  .refine((schedule) => schedule.every === undefined || schedule.at === undefined, {
    message: 'give "every" or "at", not both',
  });
export type ScheduleConfig = z.infer<typeof ScheduleConfig>;
