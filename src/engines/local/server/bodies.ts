/** Request bodies as zod sees them. Unknown fields are ignored: each SDK generation adds some. */
import { z } from 'zod';
import type { AdamParams } from '../../../core/datum';
import type { LoraConfig } from '../model-runtime';
import { checkDepth } from './body-depth';
import { isCheckpointName } from './checkpoints/checkpoint-path';
import { ProtocolError } from './protocol-error';
import { ageRecipients, LARGEST_NUMBER, LARGEST_RANK, userMetadata } from './request-bounds';

const MAX_TTL_SECONDS = 10 * 366 * 86_400;
/** Of a session. */
const MOST_TAGS = 1024;

const MAX_STOPS = 1024;

const identifier = z.string().min(1).max(300);
/** The number of a request to a model; the binary form's 0 for none is gone by here. */
const sequence = z
  .int()
  .min(1)
  .max(LARGEST_NUMBER)
  .nullish()
  .transform((value) => value ?? null);
/** The number of a model or sampling session within its session. */
const memberSequence = z
  .int()
  .min(0)
  .max(LARGEST_NUMBER)
  .nullish()
  .transform((value) => value ?? null);
const single = z
  .number()
  .min(0)
  .refine((value) => Number.isFinite(Math.fround(value)), 'is more than float32 holds');
const fraction = z
  .number()
  .min(0)
  .refine((value) => Math.fround(value) < 1, 'must be below 1, also in float32');
const optionalText = z
  .string()
  .nullish()
  .transform((value) => value ?? null);
const metadata = userMetadata.nullish().transform((value) => value ?? null);
const ttlSeconds = z
  .int()
  .min(1)
  .max(MAX_TTL_SECONDS)
  .nullish()
  .transform((value) => value ?? null);
const checkpointName = z
  .string()
  .refine(
    isCheckpointName,
    'must be 1 to 200 letters, digits, ".", "_" or "-", beginning with a letter or digit',
  );
const onlyAdamw = z.object({ type: z.literal('adamw', 'only adamw is supported') }).nullish();

export const ModelRequest = z.object({ model_id: identifier });
export const NumberedRequest = z.object({
  model_id: identifier,
  seq_id: z.int().min(1).max(LARGEST_NUMBER),
});
/** What a request for a forward pass says about itself, in either codec. */
export const ForwardBackwardEnvelope = z.object({ model_id: identifier, seq_id: sequence });

export const CreateSessionBody = z.object({
  // zod tells each entry that does not fit, so what is too long is refused unread.
  tags: z.array(z.string()).max(MOST_TAGS).nullish(),
  user_metadata: metadata,
});

export const SessionBody = z.object({ session_id: identifier });

export const FinishSessionBody = z.object({
  reason: z.object({ type: z.string().max(100) }).nullish(),
});

export const CreateModelBody = z
  .object({
    session_id: identifier,
    model_seq_id: memberSequence,
    base_model: z.string(),
    lora_config: z
      .object({
        rank: z.int().min(0).max(LARGEST_RANK),
        seed: z.int().nullish(),
        train_unembed: z.boolean().nullish(),
        train_mlp: z.boolean().nullish(),
        train_attn: z.boolean().nullish(),
      })
      .nullish(),
    optimizer_config: onlyAdamw,
    user_metadata: metadata,
  })
  .transform(({ lora_config: config, ...body }) => ({ ...body, lora: config ? loraFrom(config) : null }));
export type CreateModelBody = z.infer<typeof CreateModelBody>;

export const OptimStepBody = z.object({
  model_id: identifier,
  seq_id: sequence,
  optimizer_params: z.undefined('only adam_params are supported').optional(),
  adam_params: z
    .object({
      learning_rate: single.default(1e-4),
      beta1: fraction.default(0.9),
      beta2: fraction.default(0.95),
      eps: single
        .refine((value) => Math.fround(value) > 0, 'must be above 0, also in float32')
        .default(1e-12),
      weight_decay: single.default(0),
      grad_clip_norm: single.default(0),
    })
    .prefault({})
    .transform((adam): AdamParams => ({
      learningRate: adam.learning_rate,
      beta1: adam.beta1,
      beta2: adam.beta2,
      eps: adam.eps,
      weightDecay: adam.weight_decay,
      gradClipNorm: adam.grad_clip_norm,
    })),
});
export type OptimStepBody = z.infer<typeof OptimStepBody>;

export const SaveWeightsBody = z.object({
  model_id: identifier,
  seq_id: sequence,
  path: checkpointName.nullish().transform((value) => value ?? null),
  ttl_seconds: ttlSeconds,
  overwrite: z.boolean().default(false),
  user_metadata: metadata,
});
export type SaveWeightsBody = z.infer<typeof SaveWeightsBody>;

export const SaveForSamplerBody = SaveWeightsBody.extend({ sampling_session_seq_id: memberSequence });
export type SaveForSamplerBody = z.infer<typeof SaveForSamplerBody>;

export const SaveExternalBody = SaveWeightsBody.extend({
  path: checkpointName,
  age_encryption_recipients: ageRecipients.nullish().transform((recipients) => recipients ?? []),
});
export type SaveExternalBody = z.infer<typeof SaveExternalBody>;

/** Where a copy goes: into a session, or into one of its own. There is one project, by whatever name. */
export const CopyWeightsBody = z
  .object({
    source_path: z.string(),
    session_id: optionalText,
    model_seq_id: memberSequence,
    ttl_seconds: ttlSeconds,
  })
  .refine(
    (body) => (body.session_id === null) === (body.model_seq_id === null),
    'session_id and model_seq_id go together',
  );
export type CopyWeightsBody = z.infer<typeof CopyWeightsBody>;

/** Tells the two forms of `load_weights` apart, so that a bad number in one is not taken for the other. */
export const NamesModel = z.object({ model_id: z.unknown().refine((id) => id != null) });

export const LoadIntoModelBody = z.object({
  model_id: identifier,
  seq_id: sequence,
  path: z.string(),
  optimizer: z.boolean().default(false),
});
export type LoadIntoModelBody = z.infer<typeof LoadIntoModelBody>;

export const LoadNewModelBody = z.object({
  session_id: identifier,
  model_seq_id: memberSequence,
  path: z.string(),
  optimizer: z.boolean().default(false),
  base_model: optionalText,
  optimizer_config: onlyAdamw,
  user_metadata: metadata,
});
export type LoadNewModelBody = z.infer<typeof LoadNewModelBody>;

export const WeightsInfoBody = z.object({ tinker_path: z.string() });

export const CreateSamplingSessionBody = z
  .object({
    session_id: identifier,
    sampling_session_seq_id: memberSequence,
    model_path: optionalText,
    base_model: optionalText,
  })
  .refine(
    (body) => body.model_path !== null || body.base_model !== null,
    'model_path or base_model is needed',
  );
export type CreateSamplingSessionBody = z.infer<typeof CreateSamplingSessionBody>;

/** Bounds beyond what the codec checks, and what the engine cannot do: refused, because a silent no is worse. */
export const SampleLimits = z.object({
  // Beyond int32 on purpose: official clients count each copy of a sampler from another billion on.
  seq_id: z.int().min(0).nullish(),
  num_samples: z.int().min(1).max(1024).nullish(),
  sampling_params: z
    .object({
      max_tokens: z.int().min(1).nullish(),
      temperature: z.number().min(0).max(100).nullish(),
      top_k: z.int().min(-1).nullish(),
      top_p: z.number().gt(0).max(1).nullish(),
      // Each token drawn is compared with all of them.
      stop: z.union([z.string(), z.array(z.unknown()).max(MAX_STOPS)]).nullish(),
    })
    .nullish(),
  topk_prompt_logprobs: z.int().min(0).nullish(),
  topk_sample_logprobs: z.int().min(0).nullish(),
  prompt_alt_tokens_k: z.int().min(0).nullish(),
  prompt_logprobs_last_n: z.int().min(1).nullish(),
  record_stability_info: z.boolean().nullish(),
});

export const RequestIdBody = z.object({ request_id: z.string() });

export const TtlBody = z.object({ ttl_seconds: z.int().min(1).max(MAX_TTL_SECONDS).nullable() });

export const PageQuery = z.object({
  limit: z.coerce.number().int().min(1).max(1000).default(100),
  offset: z.coerce.number().int().min(0).default(0),
});

export const AppliedStepsQuery = z.object({ model_id: identifier });

/** Refuses with 422 and says which field and why. */
export function parseBody<Schema extends z.ZodType>(schema: Schema, body: unknown): z.output<Schema> {
  checkDepth(body);
  const parsed = schema.safeParse(body);
  if (parsed.success) return parsed.data;
  throw new ProtocolError(
    422,
    `Invalid request: ${z.prettifyError(parsed.error).replaceAll('\n', ' ').slice(0, 1000)}`,
  );
}

interface LoraBody {
  readonly rank: number;
  readonly seed?: number | null | undefined;
  readonly train_unembed?: boolean | null | undefined;
  readonly train_mlp?: boolean | null | undefined;
  readonly train_attn?: boolean | null | undefined;
}

/** Rank 0 stands for training all weights. */
function loraFrom(config: LoraBody): LoraConfig | null {
  if (config.rank === 0) return null;
  return {
    rank: config.rank,
    seed: config.seed ?? 0,
    trainAttn: config.train_attn ?? true,
    trainMlp: config.train_mlp ?? true,
    trainUnembed: config.train_unembed ?? true,
  };
}
