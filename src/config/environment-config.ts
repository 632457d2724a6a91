import { z } from 'zod';
import { DatasetConfig } from './dataset-config';
import { ComparisonEvaluatorParts, JudgesConfig, ModelGradedEvaluatorParts } from './judge-config';
import { taskQueueKey } from './python-config';

const formatPenalty = z
  .number()
  .min(0)
  .default(0.1)
  .describe('Taken off the reward where the answer is not in the form asked for, or the reply has no end');

const prompt = {
  systemPrompt: z.string().min(1).optional().describe('Before the question, in place of the benchmark’s own'),
  prefix: z
    .array(z.strictObject({ role: z.enum(['user', 'assistant']), content: z.string() }))
    .optional()
    .describe('Messages before the question that show how to answer'),
};

const split = {
  limit: z.int().min(1).optional().describe('Train on the first problems only'),
  testSize: z.int().min(0).default(100).describe('Problems kept apart, where the data has no test split'),
};

const ignoreKeys = z
  .array(z.string().min(1))
  .optional()
  .describe(
    'Fields of rows of one’s own that say nothing to the model; a row is read as if it had none of them',
  );

const Arithmetic = z.strictObject({
  type: z.literal('arithmetic').describe('Sums such as "37+58="'),
  digits: z.int().min(1).max(9).default(2).describe('Digits of both numbers'),
  partialCredit: z
    .boolean()
    .default(false)
    .describe('Reward the share of the digits that are right, not only whole answers'),
  formatPenalty,
});

const Benchmark = z.strictObject({
  type: z.literal('benchmark').describe('Any single-turn benchmark, or one with an environment of its own'),
  benchmark: z.string().min(1).describe('Name from `everstep benchmarks list`'),
  options: z.record(z.string(), z.unknown()).default({}).describe('For the benchmark of a plug-in'),
  judge: JudgesConfig.optional().meta({
    description: 'For benchmarks whose answers a model judges',
    oneOrMany: true,
  }),
  split: z.string().min(1).default('train').describe('Split of the hub’s dataset to train on'),
  ...prompt,
  ...split,
  formatPenalty,
});

const Kind = z.strictObject({
  type: z.literal('kind').describe('A task that measures sample by sample, whose values are the rewards'),
  task: z.string().min(1).describe('Name of a task whose answers are drawn, e.g. squad, or one of a plug-in'),
  options: z.record(z.string(), z.unknown()).default({}).describe('For the task of a plug-in'),
  split: z.string().min(1).default('train').describe('Split of the hub’s dataset to train on'),
  ...prompt,
  ...split,
  formatPenalty,
});

const conversations = DatasetConfig.refine(({ testSize }) => testSize === 0, {
  path: ['testSize'],
  message: 'give "testSize" of the environment, beside "dataset"',
}).describe('Conversations whose last reply is what answers are judged by; `testPath` is the test set');

const judged = {
  dataset: conversations,
  ...prompt,
  ...split,
  formatPenalty: formatPenalty.describe('Taken off the reward where the reply has no end'),
};

const ModelGraded = z.strictObject({
  type: z.literal('modelGraded').describe('Conversations whose replies a model judges, one by one'),
  ...ModelGradedEvaluatorParts,
  ...judged,
});

const Comparison = z.strictObject({
  type: z.literal('comparison').describe('Conversations whose replies a model compares with others'),
  ...ComparisonEvaluatorParts,
  ...judged,
});

const Gsm8k = z.strictObject({
  type: z.literal('gsm8k').describe('Grade-school mathematics; trains on its train split'),
  ...prompt,
  limit: split.limit,
  formatPenalty,
});

const MathProblems = z.strictObject({
  type: z.literal('math').describe('Mathematics with boxed answers, judged by equivalence'),
  dataset: z.enum(['math', 'polaris', 'deepmath']).default('math').describe('From the hub, without `path`'),
  path: z
    .string()
    .min(1)
    .optional()
    .describe(
      'Rows of one’s own: problem (or question), or a conversation under prompt or messages; and answer (or solution)',
    ),
  ignoreKeys,
  ...prompt,
  ...split,
  formatPenalty,
});

const Code = z.strictObject({
  type: z.literal('code').describe('Programs that are run against tests in a sandbox'),
  path: z
    .string()
    .min(1)
    .optional()
    .describe('Rows of one’s own: prompt, and test_list, or test and entry_point, or input_output'),
  ignoreKeys,
  reward: z
    .enum(['all', 'fraction'])
    .default('all')
    .describe('all: 1 when every test passes; fraction: the share that does'),
  codeBlock: z
    .enum(['required', 'optional'])
    .default('required')
    .describe('required: a reply without one is wrong; optional: it is code as a whole then'),
  ...prompt,
  ...split,
  formatPenalty,
});

const InstructionFollowing = z.strictObject({
  type: z.literal('ifeval').describe('Instructions that a program can check'),
  reward: z
    .enum(['all', 'fraction'])
    .default('all')
    .describe('all: 1 when every instruction is followed; fraction: the share that is'),
  ...prompt,
  ...split,
});

const Search = z.strictObject({
  type: z.literal('search').describe('Questions answered with a search tool over a corpus of one’s own'),
  corpus: z.string().min(1).describe('JSONL, JSON, Parquet or CSV with id, title and text'),
  questions: z.string().min(1).describe('Rows with question and answer (one or a list)'),
  ignoreKeys,
  resultCount: z.int().min(1).max(50).default(3).describe('Passages a query returns'),
  maxTurns: z.int().min(1).max(100).default(5).describe('Replies of the model in one rollout'),
  systemPrompt: z
    .string()
    .optional()
    .describe('Before the question, in place of the built-in instructions; empty for none'),
  ...split,
  formatPenalty,
});

const TwentyQuestions = z.strictObject({
  type: z.literal('twenty_questions').describe('The model finds out what another player thinks of'),
  maxQuestions: z.int().min(1).max(100).default(20),
  testSize: z.int().min(0).default(8).describe('Things kept apart'),
});

const Plugin = z.strictObject({
  type: z.literal('plugin').describe('An environment of the plug-in file'),
  environment: z.string().min(1).describe('Its name there'),
  options: z.record(z.string(), z.unknown()).default({}),
  ...split,
});

const Python = z.strictObject({
  type: z.literal('python').describe('An environment of a Python worker'),
  environment: z.string().min(1).describe('Name the Python worker registers it under'),
  options: z.record(z.string(), z.json()).default({}),
  taskQueue: taskQueueKey,
  ...split,
});

const Verifiers = z.strictObject({
  type: z.literal('verifiers').describe('An environment of the Python package `verifiers`'),
  id: z.string().min(1).describe('As `verifiers.load_environment` takes it'),
  arguments: z.record(z.string(), z.json()).default({}).describe('Keyword arguments of the environment'),
  rolloutsPerExample: z.int().min(1).max(1024).default(1).describe('Of each problem that is measured'),
  maxConcurrent: z.int().min(1).max(4096).default(64).describe('Problems that are measured at once'),
  taskQueue: taskQueueKey,
  ...split,
});

const SingleEnvironment = z.discriminatedUnion('type', [
  Arithmetic,
  Benchmark,
  Kind,
  ModelGraded,
  Comparison,
  Gsm8k,
  MathProblems,
  Code,
  InstructionFollowing,
  Search,
  TwentyQuestions,
  Plugin,
  Python,
  Verifiers,
]);

const Mixture = z.strictObject({
  type: z.literal('mixture').describe('Several environments, each with its share of the groups'),
  parts: z
    .array(
      z.strictObject({
        environment: SingleEnvironment,
        weight: z.number().positive().default(1).describe('Share of the groups, beside those of the others'),
        name: z
          .string()
          .regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/)
          .optional()
          .describe(
            'Tag by which metrics are split; default: the type of the environment, of a plug-in or in Python its name',
          ),
      }),
    )
    .min(1)
    .max(100),
});

/** What a model is trained on by reinforcement. */
export const EnvironmentConfig = z.discriminatedUnion('type', [...SingleEnvironment.options, Mixture]);
export type EnvironmentConfig = z.infer<typeof EnvironmentConfig>;
