import { z } from 'zod';
import { CheckpointReference } from './checkpoint-reference';
import { EnvironmentConfig } from './environment-config';
import { LearningRateScheduleConfig } from './optimization-config';
import { SupervisedConfig } from './supervised-config';

const shared = SupervisedConfig.shape;

const AdvantageConfig = z.strictObject({
  baseline: z
    .enum(['groupMean', 'leaveOneOut'])
    .default('groupMean')
    .describe('Subtracted from a reward: the mean of its group, or of the others of its group'),
  normalize: z.boolean().default(false).describe("Divide by the standard deviation of the group's rewards"),
  epsilon: z.number().positive().default(1e-6).describe('Added to that deviation'),
  discount: z
    .number()
    .min(0)
    .max(1)
    .optional()
    .describe('Gives each token the discounted rewards that follow it, less the mean of its group'),
});

const Tolerance = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('fail-fast') }),
  z.strictObject({ type: z.literal('retry'), maxRetries: z.int().min(0).max(1000).default(3) }),
  z.strictObject({
    type: z.literal('min-viable'),
    maxRetries: z.int().min(0).max(1000).default(3),
    minSuccessful: z.int().min(1).nullable().default(null).describe('Default: three quarters of the group'),
  }),
]);

/** A bare word is short for that strategy with its defaults. */
const ToleranceConfig = z.preprocess(
  (value: z.input<typeof Tolerance> | z.input<typeof Tolerance>['type']) =>
    typeof value === 'string' ? { type: value } : value,
  Tolerance,
);

const LimitsConfig = z.strictObject({
  maxTurns: z.int().min(1).optional(),
  maxRolloutTokens: z.int().min(2).optional().describe('Prompt and sampled tokens together'),
  maxSampledTokens: z.int().min(2).optional().describe('Sampled tokens of all turns'),
  maxToolCalls: z.int().min(0).optional(),
  timeoutSeconds: z.number().positive().optional().describe('For a whole rollout'),
  samplingTimeoutSeconds: z.number().positive().optional().describe('For one completion'),
  environmentTimeoutSeconds: z
    .number()
    .positive()
    .optional()
    .describe('For one answer of an environment; default 300'),
  graderTimeoutSeconds: z
    .number()
    .positive()
    .optional()
    .describe('For the grade of a rollout that a limit ended, and for the rewards of a group'),
});

const KlReferenceConfig = z.strictObject({
  model: z.string().min(1).optional().describe("Another model with the same tokens; default: the run's own"),
  checkpoint: CheckpointReference.optional().describe(
    'Sampler weights, as the URI of the engine or as RUN@STEP or RUN@best; default: the model as it is',
  ),
});

/** What a person writes to train a model by reinforcement. Unknown keys are errors, so typos fail at once. */
export const ReinforcementConfig = z.strictObject({
  kind: z.literal('rl').describe('Reinforcement learning'),
  model: shared.model,
  renderer: shared.renderer,
  templateArguments: shared.templateArguments,
  environment: EnvironmentConfig.describe('Problems and how answers earn rewards'),
  steps: z
    .int()
    .min(1)
    .max(10_000_000)
    .optional()
    .describe('Iterations: batches of groups; default: what `epochs` give'),
  epochs: z
    .number()
    .positive()
    .max(100_000)
    .default(1)
    .describe('Passes over the problems; ignored when `steps` is given'),
  groupsPerBatch: z.int().min(1).max(65_536).default(64).describe('Problems a step'),
  groupSize: z.int().min(1).max(4096).default(8).describe('Rollouts of each problem'),
  maxTokens: z.int().min(1).default(256).describe('Tokens of one completion'),
  temperature: z.number().min(0).max(10).default(1).describe('1 samples what the log-probabilities are of'),
  rolloutRules: z
    .enum(['simple', 'agentic'])
    .default('simple')
    .describe('simple: no bounds but maxTokens; agentic: bounds for many turns with tools'),
  limits: LimitsConfig.prefault({}).describe('Bounds of a rollout, in place of those of `rolloutRules`'),
  rolloutErrorTolerance: ToleranceConfig.default({ type: 'fail-fast' }).describe(
    'What failed rollouts do: fail-fast, retry, or min-viable (a smaller group is enough)',
  ),
  rolloutConcurrency: z
    .int()
    .min(1)
    .max(65_536)
    .default(256)
    .describe('Rollouts a sampling worker has under way'),
  lossFunction: z
    .union([
      z.enum(['importance_sampling', 'ppo', 'cispo', 'dro']),
      z.strictObject({ plugin: z.string().min(1).describe('Name among the `losses` of the plug-in file') }),
    ])
    .default('importance_sampling')
    .describe('Policy loss, by the name of the protocol, or one of a plug-in'),
  lossConfig: z
    .record(z.string(), z.number())
    .default({})
    .describe('Its settings, e.g. clip_low_threshold and clip_high_threshold'),
  rewardShaping: z
    .strictObject({
      plugin: z.string().min(1).describe('Name among the `rewardShaping` of the plug-in file'),
      options: z.record(z.string(), z.unknown()).default({}),
    })
    .optional()
    .describe('Rewards on top of what the environment gives, in training alone'),
  advantages: AdvantageConfig.prefault({}),
  removeConstantRewardGroups: z
    .boolean()
    .default(false)
    .describe('Leave out groups whose rewards are all equal'),
  klPenaltyCoef: z
    .number()
    .min(0)
    .default(0)
    .describe('Weight of the penalty on leaving the reference; 0: none'),
  klDiscountFactor: z.number().min(0).max(1).default(0).describe('Charges a token also for those after it'),
  klReference: KlReferenceConfig.prefault({}),
  computeLogprobs: z
    .boolean()
    .default(false)
    .describe('Score what was drawn once more, as a prompt, and train on these log-probabilities'),
  computePostKl: z
    .boolean()
    .default(false)
    .describe('Measure how far the updates of a step moved the policy, by one more forward pass'),
  numSubsteps: z.int().min(1).max(1024).default(1).describe('Optimizer updates a step'),
  streamedMinibatches: z
    .int()
    .min(0)
    .max(1024)
    .default(0)
    .describe('Parts of an update that are sent as soon as their groups are there; 0 sends whole batches'),
  maxStepsOffPolicy: z
    .int()
    .min(0)
    .max(1000)
    .default(0)
    .describe('Steps the weights that sample may be behind; 0: synchronous'),
  learningRate: shared.learningRate,
  lrSchedule: LearningRateScheduleConfig.default({ type: 'constant', warmupSteps: 0 }),
  adam: shared.adam,
  seed: z
    .int()
    .min(0)
    .max(2_147_483_647)
    .default(0)
    .describe('Decides the order of problems and what is sampled'),
  loraRank: shared.loraRank,
  saveEvery: shared.saveEvery,
  ttlSeconds: shared.ttlSeconds,
  rollingSaveEvery: shared.rollingSaveEvery,
  rollingTtlSeconds: shared.rollingTtlSeconds,
  evalEvery: z.int().min(0).optional().describe('Steps between runs of `evaluators`; default 20, 0 disables'),
  evaluators: shared.evaluators,
  infrequentEvalEvery: shared.infrequentEvalEvery,
  infrequentEvaluators: shared.infrequentEvaluators,
  schedules: shared.schedules,
  budget: shared.budget,
  numGroupsToLog: z.int().min(0).max(1000).default(4).describe("Groups shown in a step's page of rollouts"),
  initialCheckpoint: shared.initialCheckpoint,
  engine: shared.engine,
  plugins: shared.plugins,
});
export type ReinforcementConfig = z.infer<typeof ReinforcementConfig>;
