import { z } from 'zod';
import { TRAIN_ON_WHAT } from '../core/conversation';
import { CheckpointReference } from './checkpoint-reference';
import { DatasetConfig } from './dataset-config';
import { EvaluatorConfig, RunBudgetConfig, ScheduleConfig } from './evaluation-config';
import { AdamConfig, EngineConfig, LearningRateScheduleConfig } from './optimization-config';

/** What a person writes to fine-tune a model on conversations. Unknown keys are errors, so typos fail at once. */
export const SupervisedConfig = z.strictObject({
  kind: z.literal('sft').describe('Supervised fine-tuning'),
  model: z.string().min(1).describe('Base model by the engine\'s name, e.g. "everstep/tiny"'),
  renderer: z
    .string()
    .min(1)
    .optional()
    .describe('How conversations become tokens; default: the one recommended for the model'),
  templateArguments: z
    .record(z.string(), z.json())
    .optional()
    .describe(
      'Variables of the chat template, as in `{ enable_thinking: false }`; with renderer `chat_template`',
    ),
  dataset: DatasetConfig.describe('Training conversations'),
  trainOnWhat: z.enum(TRAIN_ON_WHAT).default('allAssistantMessages').describe('Which tokens carry loss'),
  lossReduction: z
    .enum(['mean', 'none'])
    .default('mean')
    .describe('mean: each example weighs the same; none: each token does'),
  steps: z.int().min(1).max(10_000_000).optional().describe('Optimizer updates; default: what `epochs` give'),
  epochs: z
    .number()
    .positive()
    .max(100_000)
    .default(1)
    .describe('Passes over the training split; ignored when `steps` is given'),
  batchSize: z.int().min(1).max(65_536).default(128).describe('Examples a step'),
  learningRate: z.number().positive().max(10).default(1e-4).describe('Peak learning rate'),
  lrSchedule: LearningRateScheduleConfig.default({ type: 'linear', warmupSteps: 0, finalFraction: 0 }),
  adam: AdamConfig.prefault({}),
  seed: z.int().min(0).max(2_147_483_647).default(0).describe('Decides shuffling and adapter initialisation'),
  loraRank: z.int().min(0).max(1024).default(32).describe('Rank of the LoRA adapter; 0 trains every weight'),
  maxLength: z
    .int()
    .min(2)
    .max(10_000_000)
    .optional()
    .describe("Tokens an example is cut to; without it one longer than the model's context is refused"),
  saveEvery: z
    .int()
    .min(0)
    .default(20)
    .describe('Steps between checkpoints; 0 keeps only the first and the last'),
  ttlSeconds: z
    .int()
    .min(3600)
    .nullable()
    .default(604_800)
    .describe('Life of periodic checkpoints; the last one never expires'),
  rollingSaveEvery: z
    .int()
    .min(0)
    .default(0)
    .describe('Steps between rolling checkpoints, of which only the newest is kept; 0 disables'),
  rollingTtlSeconds: z.int().min(3600).default(7200).describe('Life of a rolling checkpoint'),
  evalEvery: z.int().min(0).optional().describe('Steps between runs of `evaluators`; default 10, 0 disables'),
  evaluators: z.array(EvaluatorConfig).optional().describe('Run every `evalEvery` steps'),
  infrequentEvalEvery: z
    .int()
    .min(0)
    .optional()
    .describe('Steps between runs of `infrequentEvaluators`; default 100, 0 disables'),
  infrequentEvaluators: z.array(EvaluatorConfig).optional().describe('Run every `infrequentEvalEvery` steps'),
  schedules: z
    .array(ScheduleConfig)
    .optional()
    .describe('Full form of the four keys above; use one form or the other'),
  budget: RunBudgetConfig.optional().describe('Limits of what the run may use; [keys](#budget)'),
  submitAhead: z
    .int()
    .min(0)
    .max(16)
    .default(1)
    .describe('Steps queued at the engine behind the running one'),
  initialCheckpoint: CheckpointReference.optional().describe(
    'Engine URI, RUN@STEP or RUN@best whose weights the run starts from, with a fresh optimizer',
  ),
  engine: EngineConfig.prefault({}),
  plugins: z
    .string()
    .min(1)
    .optional()
    .describe('Plug-in file (everstep.config.ts) with graders and evaluators'),
});
export type SupervisedConfig = z.infer<typeof SupervisedConfig>;
