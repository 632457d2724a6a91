import { z } from 'zod';
import { MOST_SAMPLES } from '../core/benchmark-run';
import { CheckpointReference } from './checkpoint-reference';
import type { JudgesInput } from './judge-config';
import { JudgesConfig } from './judge-config';
import { configError, explainIssues } from './config-errors';

const contextWindow = z.int().min(1).optional().describe('Tokens of prompt and completion together');
const timeoutSeconds = z.number().positive().max(604_800).optional().describe('Of one example');
const dates = {
  startDate: z.iso.date().optional().describe('Only examples of this day and later, where they have dates'),
  endDate: z.iso.date().optional().describe('Only examples up to the beginning of this day'),
};

/** What a `benchmark` evaluator of a training run takes as `everstep eval` does; absent in runs of earlier versions. */
export const BenchmarkEvaluatorParts = {
  numSamples: z.int().min(1).max(MOST_SAMPLES).optional().describe('Completions of each example; default 1'),
  agentConcurrency: z
    .int()
    .min(1)
    .max(4096)
    .optional()
    .describe('Examples of several turns at a time; default 8'),
  contextWindow,
  timeoutSeconds,
  ...dates,
};

const PRICE = 'dollarsPerMillionTokens';
const limit = z.number().positive().max(1e15).optional();

/** What asking the model may take, for each benchmark. */
export const AskingBudgetConfig = z
  .strictObject({
    tokens: limit.describe('Tokens of prompts and completions'),
    requests: z.int().min(1).max(1e15).optional().describe('Requests that are answered'),
    dollars: limit.describe('At dollarsPerMillionTokens'),
    dollarsPerMillionTokens: limit.describe('What the service asks, of prompts as of completions'),
  })
  .refine(({ dollars, dollarsPerMillionTokens: price }) => dollars === undefined || price !== undefined, {
    path: ['dollars'],
    message: 'a limit in dollars needs a price: give dollarsPerMillionTokens, too',
    when: isWellFormed,
  })
  .refine((budget) => budget[PRICE] === undefined || hasLimit(budget), {
    message: 'a price alone limits nothing: give tokens, requests or dollars',
    when: isWellFormed,
  })
  .refine((budget) => budget[PRICE] !== undefined || hasLimit(budget), {
    message: 'nothing is limited: give tokens, requests or dollars',
    when: isWellFormed,
  });

/** What a key that is misspelt would have said is not missing. */
function isWellFormed({ issues }: { readonly issues: readonly unknown[] }): boolean {
  return issues.length === 0;
}

function hasLimit(budget: Readonly<Record<string, number | undefined>>): boolean {
  return Object.entries(budget).some(([key, value]) => key !== PRICE && value !== undefined);
}

/** What a benchmark run is asked for, by the field's names in camelCase. What is left out is the model's or the benchmark's default. */
export const BenchmarkConfig = z
  .strictObject({
    model: z.string().min(1).optional().describe('Name of the model; of a run of ours it is known'),
    endpoint: z
      .url({ protocol: /^https?$/, error: 'Give an http or https address' })
      .optional()
      .describe('Base URL of an OpenAI-compatible endpoint'),
    api: z.enum(['chat', 'completions']).default('chat').describe('Which API of the endpoint is spoken'),
    checkpoint: CheckpointReference.optional().describe(
      'RUN, RUN@STEP, RUN@best, or the URI of sampler weights',
    ),
    engine: z
      .string()
      .min(1)
      .optional()
      .describe('Training service that has the weights; without a checkpoint its base model is asked'),
    renderer: z
      .string()
      .min(1)
      .optional()
      .describe("How conversations become tokens; default: the run's, or the one recommended for the model"),
    templateArguments: z
      .record(z.string(), z.json())
      .optional()
      .describe("Variables of the chat template; default: the run's"),
    maxExamples: z.int().min(1).optional().describe('Only the first examples of the seeded order'),
    numSamples: z.int().min(1).max(MOST_SAMPLES).default(1).describe('Completions of each example'),
    concurrency: z.int().min(1).max(4096).default(64).describe('Requests in flight'),
    agentConcurrency: z.int().min(1).max(4096).default(8).describe('Examples of several turns at a time'),
    temperature: z.number().min(0).max(10).optional(),
    topP: z.number().positive().max(1).optional(),
    maxTokens: z.int().min(1).optional().describe('Tokens a completion may have'),
    contextWindow,
    timeoutSeconds,
    budget: AskingBudgetConfig.optional().describe('What each benchmark may use of the model'),
    systemPrompt: z
      .string()
      .optional()
      .describe('Goes before the question, in place of what the benchmark says'),
    ...dates,
    judge: JudgesConfig.optional(),
    plugins: z.string().min(1).optional().describe('Plug-in file with benchmarks and graders'),
  })
  .refine(({ endpoint, renderer }) => endpoint === undefined || renderer === undefined, {
    path: ['renderer'],
    message:
      'an endpoint renders conversations itself. Leave it out, or name an engine in place of the endpoint',
  })
  .refine(
    ({ contextWindow, maxTokens }) =>
      maxTokens === undefined || contextWindow === undefined || maxTokens < contextWindow,
    {
      path: ['maxTokens'],
      message:
        'contextWindow counts prompt and completion together and leaves no room for a prompt. Give fewer than contextWindow',
    },
  );
export type BenchmarkConfig = z.infer<typeof BenchmarkConfig>;

/** As a person writes it: defaults may be left out. */
export interface BenchmarkOptions extends Partial<Omit<BenchmarkConfig, 'judge'>> {
  /** Who judges, for benchmarks that are judged by a model; several decide by majority. */
  readonly judge?: JudgesInput | undefined;
}

/** Checks and completes; everything wrong is told at once, unknown keys with the nearest. */
export function parseBenchmarkConfig(value: unknown): BenchmarkConfig {
  const parsed = BenchmarkConfig.safeParse(value, { reportInput: true });
  if (parsed.success) return parsed.data;
  throw configError('The evaluation', explainIssues(parsed.error.issues, { schema: BenchmarkConfig, value }));
}
