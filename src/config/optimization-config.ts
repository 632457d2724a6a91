import { z } from 'zod';

const shape = {
  warmupSteps: z.int().min(0).default(0).describe('Steps over which the rate rises from 0'),
  finalFraction: z.number().min(0).max(1).default(0).describe('Rate at the end, as a fraction of the peak'),
};

const FullScheduleConfig = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('constant'), warmupSteps: shape.warmupSteps }),
  z.strictObject({ type: z.literal('linear'), ...shape }),
  z.strictObject({ type: z.literal('cosine'), ...shape }),
]);

/** A bare word is short for that schedule without warm-up. */
export const LearningRateScheduleConfig = z.preprocess(
  (value: z.input<typeof FullScheduleConfig> | z.input<typeof FullScheduleConfig>['type']) =>
    typeof value === 'string' ? { type: value } : value,
  FullScheduleConfig,
);
export type LearningRateScheduleConfig = z.infer<typeof FullScheduleConfig>;

/** AdamW; the defaults are the field's (tinker-cookbook). */
export const AdamConfig = z.strictObject({
  beta1: z.number().min(0).lt(1).default(0.9),
  beta2: z.number().min(0).lt(1).default(0.95),
  eps: z.number().positive().default(1e-8),
  weightDecay: z.number().min(0).default(0),
  gradClipNorm: z.number().min(0).default(0).describe('Global norm; 0 switches clipping off'),
});

/** What a service asks for one model. */
const ModelPrices = z.strictObject({
  training: z.number().min(0).describe('Tokens trained on'),
  prefill: z.number().min(0).optional().describe('Tokens of prompts'),
  sampling: z.number().min(0).optional().describe('Tokens drawn'),
});

/** Which training service. Without `url` the one recorded for the stack. Keys come from the environment, never from here. */
export const EngineConfig = z.strictObject({
  url: z
    .url({ protocol: /^https?$/, error: 'Give an http or https address' })
    .refine((url) => !/[?#@]/.test(url), 'no user, key or query here: keys come from TINKER_API_KEY')
    .optional()
    .describe('Base URL of a Tinker-compatible service'),
  profile: z
    .enum(['everstep', 'tinker', 'skyrl'])
    .optional()
    .describe('What the service can do; default: probed'),
  tags: z.array(z.string()).default([]).describe('Tags of the session at the service'),
  prices: z
    .record(z.string().min(1), ModelPrices)
    .optional()
    .describe('Dollars per million tokens, by model; without them no costs are shown'),
});
