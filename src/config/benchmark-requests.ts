import path from 'node:path';
import { z } from 'zod';
import type { BackfillCheckpoint, BackfillRequest } from '../core/backfill';
import type {
  AskingBudget,
  BenchmarkRequest,
  CellRejudging,
  EngineSource,
  EvaluatorRequest,
  InspectTask,
  JudgeSource,
  ModelSource,
} from '../core/benchmark-run';
import type { CanaryBand, CanaryPin, CanaryRequest, CanaryWebhook } from '../core/canary';
import { isValidName } from '../core/names';
import type { EvaluationBudget } from '../core/schedules/evaluation-schedule';
import { AskingBudgetConfig, BenchmarkConfig } from './benchmark-config';
import { configError, explainIssues } from './config-errors';
import { EvaluationBudgetConfig } from './evaluation-config';
import { Judge, MOST_JUDGES, MOST_VOTES } from './judge-config';

/** A column of a backfill, as it is looked up. */
interface Column extends Pick<BackfillRequest, 'store' | 'asking' | 'inspectTasks' | 'checkpoints'> {
  readonly benchmark: string;
}

/** An evaluator on a checkpoint, whether its run asks or `runEvaluator`, which brings the folder and what is below it. */
interface EvaluatedCell
  extends
    Pick<EvaluatorRequest, 'step' | 'lineage' | 'samplerPath' | 'evaluator' | 'isAtOwnEngine' | 'rejudging'>,
    Partial<Pick<EvaluatorRequest, 'folder'>> {
  /** The training run. */
  readonly run: string;
  readonly attempt: number;
  readonly budget?: { readonly [Key in keyof EvaluationBudget]: EvaluationBudget[Key] | undefined };
}

/** A schema for each field, so that the compiler finds one that is new. */
type FieldsOf<Request> = { readonly [Key in keyof Request]-?: z.ZodType<Request[Key]> };

const name = z
  .string()
  .refine(
    isValidName,
    'use 1 to 100 letters, digits, ".", "_" or "-", beginning with a letter or digit, without ".."',
  );
const place = z
  .string()
  .refine((text) => path.isAbsolute(text) && !text.includes('\0'), 'give an absolute path');
const index = z.int().min(0);
const arguments_ = z.record(z.string(), z.unknown());
const options = BenchmarkConfig.shape;
const address = options.endpoint.unwrap();
const model = z.string().min(1);

const Endpoint = z.looseObject({
  type: z.literal('endpoint'),
  url: address,
  api: options.api.unwrap(),
  model,
} satisfies FieldsOf<Extract<ModelSource, { readonly type: 'endpoint' }>>);

const Engine = z.looseObject({
  type: z.literal('engine'),
  model,
  url: address.exactOptional(),
  profile: z.enum(['everstep', 'tinker', 'skyrl']).exactOptional(),
  path: z.string().nullable(),
  label: z.string().nullable(),
  identity: z.string().exactOptional(),
  renderer: z.string().min(1).exactOptional(),
  templateArguments: arguments_.exactOptional(),
} satisfies FieldsOf<EngineSource>);

const Model = z.discriminatedUnion('type', [Endpoint, Engine]) satisfies z.ZodType<ModelSource>;

const Judges = z
  .array(
    z.looseObject({
      model: Model,
      temperature: Judge.shape.temperature.unwrap(),
      topP: Judge.shape.topP.unwrap(),
      maxTokens: Judge.shape.maxTokens.unwrap().exactOptional(),
      concurrency: Judge.shape.concurrency.unwrap(),
      timeoutSeconds: Judge.shape.timeoutSeconds.unwrap(),
      vote: z
        .int()
        .min(1)
        .max(MOST_VOTES - 1)
        .exactOptional(),
      isFresh: z.literal(true).exactOptional(),
    } satisfies FieldsOf<JudgeSource>),
  )
  .min(1)
  .max(MOST_JUDGES * MOST_VOTES);

const Inspect = z.looseObject({
  task: z.string().min(1),
  args: arguments_,
  roles: arguments_.exactOptional(),
  source: z.string().exactOptional(),
} satisfies FieldsOf<InspectTask>);

const asking = {
  maxExamples: options.maxExamples,
  numSamples: options.numSamples.unwrap(),
  concurrency: options.concurrency.unwrap(),
  agentConcurrency: options.agentConcurrency.unwrap(),
  temperature: options.temperature,
  topP: options.topP,
  maxTokens: options.maxTokens,
  contextWindow: options.contextWindow,
  timeoutSeconds: options.timeoutSeconds,
  budget: (AskingBudgetConfig.loose() satisfies z.ZodType<AskingBudget>).optional(),
  systemPrompt: options.systemPrompt,
  startDate: options.startDate,
  endDate: options.endDate,
  dataFolder: place.optional(),
  plugins: place.optional(),
  judges: Judges.optional(),
  judgesFor: z.array(z.string()).optional(),
  samplesFrom: place.optional(),
  isRegrading: z.literal(true).optional(),
  answersFrom: place.optional(),
} satisfies FieldsOf<BackfillRequest['asking']>;

/** Fields that are not named are those of other releases, in every part. */
const Benchmark = z.looseObject({
  ...asking,
  run: name,
  folder: place,
  benchmark: name,
  inspectTask: Inspect.optional(),
  model: Model,
} satisfies FieldsOf<BenchmarkRequest>);

const ColumnSchema = z.looseObject({
  store: place,
  benchmark: name,
  inspectTasks: z.record(z.string(), Inspect).optional(),
  asking: z.looseObject(asking),
  checkpoints: z.array(
    z.looseObject({
      run: name,
      step: index,
      lineage: index,
      model: Engine,
      paths: z.array(z.string()),
      evalRun: name,
    } satisfies FieldsOf<BackfillCheckpoint>),
  ),
} satisfies FieldsOf<Omit<Column, 'asking'>> & { readonly asking: z.ZodType });

const Cell = z.looseObject({
  run: name,
  step: index,
  lineage: index,
  samplerPath: z.string(),
  evaluator: name,
  attempt: index,
  folder: place.optional(),
  budget: EvaluationBudgetConfig.loose().optional(),
  isAtOwnEngine: z.literal(true).optional(),
  rejudging: z
    .looseObject({ samplesFrom: place, judges: Judges } satisfies FieldsOf<CellRejudging>)
    .optional(),
} satisfies FieldsOf<EvaluatedCell>);

const Pin = z.discriminatedUnion('type', [
  z.looseObject({ type: z.literal('first') }),
  z.looseObject({ type: z.literal('scores'), scores: z.record(z.string(), z.number()) }),
]) satisfies z.ZodType<CanaryPin>;

/** How it asks is checked with each of its benchmarks. */
const Canary = z.looseObject({
  name,
  store: place,
  benchmarks: z.array(z.string()),
  pin: Pin,
  band: z.looseObject({
    type: z.enum(['test', 'noise-floor']),
    level: z.number().min(0.5).lt(1),
  } satisfies FieldsOf<CanaryBand>),
  deadlineSeconds: z.number().positive(),
  webhook: z
    .looseObject({
      url: z.looseObject({ type: z.enum(['address', 'variable']), value: z.string() }),
      headers: z.record(z.string(), z.string()),
    } satisfies FieldsOf<CanaryWebhook>)
    .exactOptional(),
} satisfies FieldsOf<Omit<CanaryRequest, 'model' | 'asking' | 'webhook'>> & { readonly webhook: z.ZodType });

/** Refuses what no command and no library asks for: anybody who reaches the server can start a workflow with it. */
export function checkBenchmarkRequest(request: unknown): void {
  check(Benchmark, request);
}

/** The same of a column of a backfill. */
export function checkColumn(column: unknown): void {
  check(ColumnSchema, column);
}

/** The same of an evaluator on a checkpoint. */
export function checkCell(cell: unknown): void {
  check(Cell, cell);
}

/** The same of a schedule of canary evaluations. */
export function checkCanary(canary: unknown): void {
  check(Canary, canary);
}

function check(schema: z.ZodType, value: unknown): void {
  const parsed = schema.safeParse(value, { reportInput: true });
  if (parsed.success) return;
  throw configError(
    'The request that the workflow was started with',
    explainIssues(parsed.error.issues, { schema, value }),
  );
}
