import { z } from 'zod';
import { untilFault } from '../http/until-fault';

const MOST_CHOICES = 128;
const MOST_STOPS = 16;
/** OpenAI's, as are the lengths of what is said in them. */
const MOST_METADATA = 16;
const MOST_BIASES = 1024;
const LARGEST_SEED = 2 ** 31 - 1;

const stopText = z.string().min(1).max(1000);

/** What both kinds of completion take. */
export const samplingFields = {
  model: z
    .string()
    .min(1)
    .max(500)
    .describe(
      'RUN@STEP, RUN (its newest kept checkpoint), RUN@best, tinker://…, or a base model of the engine',
    ),
  n: z.int().min(1).max(MOST_CHOICES).nullish(),
  temperature: z.number().min(0).max(2).nullish().describe('0 is greedy; default 1'),
  top_p: z.number().gt(0).max(1).nullish(),
  top_k: z.int().min(-1).nullish().describe('-1 switches it off, which is the default'),
  max_tokens: z.int().min(0).nullish(),
  stop: z.union([stopText, z.array(stopText).max(MOST_STOPS)]).nullish(),
  seed: z.int().min(-LARGEST_SEED).max(LARGEST_SEED).nullish(),
  stream: z.boolean().nullish(),
  stream_options: z
    .strictObject({ include_usage: z.boolean().nullish(), include_obfuscation: z.boolean().nullish() })
    .nullish(),
};

/** A field of OpenAI's that would change an answer and cannot be met; null says nothing, and is taken. */
export function unmet(reason: string) {
  return z.null({ error: `${reason}: leave it out, or give null` }).optional();
}

const BIAS = 'Tokens cannot be made more or less likely: leave it out, or give {}';
const PENALTY = 'Penalties are not supported: leave it out, or give 0';

/** What a training service cannot do; the value that does nothing is taken, because clients write it out. */
export const neutralFields = {
  presence_penalty: z.literal(0, { error: PENALTY }).nullish(),
  frequency_penalty: z.literal(0, { error: PENALTY }).nullish(),
  logit_bias: untilFault(
    z.record(z.string(), z.literal(0, { error: BIAS }), { error: BIAS }),
    MOST_BIASES,
  ).nullish(),
};

/** Says something to other services and changes no answer. */
export const ignoredFields = {
  user: z.string().nullish(),
  metadata: untilFault(z.record(z.string().max(64), z.string().max(512)), MOST_METADATA).nullish(),
  store: z.boolean().nullish(),
  service_tier: z.string().nullish(),
  safety_identifier: z.string().nullish(),
  prompt_cache_key: z.string().nullish(),
  prompt_cache_retention: z.string().nullish(),
};
