import { z } from 'zod';

/*
 * The part of Inspect's `EvalLog`, version 2, that is read here. Other versions of Inspect add fields and leave some out, so
 * that what is no more than told has defaults.
 */

const number = z.number().nullish();

const Metric = z.object({
  name: z.string(),
  /** null where Python had NaN. */
  value: number,
  params: z.record(z.string(), z.unknown()).nullish(),
});

const LoggedScore = z.object({
  name: z.string(),
  scorer: z.string().nullish(),
  reducer: z.string().nullish(),
  scored_samples: number,
  unscored_samples: number,
  metrics: z.record(z.string(), Metric).default({}),
});
export type LoggedScore = z.infer<typeof LoggedScore>;

/** Which number stands for the task, by its author or by Inspect. */
const HeadlineMetric = z.object({
  score: z.string().nullish(),
  metric: z.string().nullish(),
  reducer: z.string().nullish(),
});

const LoggedError = z.object({ message: z.string() });

export const LogHeader = z.object({
  version: z.number().default(2),
  status: z.enum(['started', 'success', 'cancelled', 'error']).default('started'),
  eval: z.object({
    task: z.string(),
    task_id: z.string().nullish(),
    task_version: z.union([z.number(), z.string()]).nullish(),
    task_registry_name: z.string().nullish(),
    task_args: z.record(z.string(), z.unknown()).nullish(),
    created: z.string(),
    model: z.string(),
    dataset: z.object({ name: z.string().nullish(), samples: number }).default({}),
    config: z.object({ epochs: number }).default({}),
    packages: z.record(z.string(), z.string()).nullish(),
  }),
  results: z
    .object({
      total_samples: number,
      completed_samples: number,
      scores: z.array(LoggedScore).default([]),
      headline: HeadlineMetric.nullish().catch(null),
    })
    .nullish(),
  stats: z
    .object({ started_at: z.string().nullish(), completed_at: z.string().nullish() })
    .nullish()
    .catch(null),
  error: LoggedError.nullish(),
});
export type LogHeader = z.infer<typeof LogHeader>;

const ContentPart = z.object({
  type: z.string(),
  text: z.string().nullish(),
  reasoning: z.string().nullish(),
});
const Content = z.union([z.string(), z.array(ContentPart)]);

const LoggedMessage = z.object({
  role: z.string(),
  content: Content.default(''),
  source: z.string().nullish(),
  function: z.string().nullish(),
  tool_calls: z
    .array(
      z.object({
        id: z.string().nullish(),
        function: z.string().nullish(),
        arguments: z.unknown(),
      }),
    )
    .nullish()
    .catch(null),
  tool_call_id: z.string().nullish(),
});
export type LoggedMessage = z.infer<typeof LoggedMessage>;

const SampleScore = z.object({
  value: z.unknown(),
  answer: z.string().nullish(),
  explanation: z.string().nullish(),
});
export type SampleScore = z.infer<typeof SampleScore>;

const Usage = z.object({ input_tokens: number, output_tokens: number });

export const LoggedSample = z.object({
  id: z.union([z.string(), z.number()]),
  epoch: z.int().min(1).default(1),
  input: z.union([z.string(), z.array(LoggedMessage)]),
  choices: z.array(z.string()).nullish(),
  target: z.union([z.string(), z.array(z.string())]).default(''),
  messages: z.array(LoggedMessage).default([]),
  output: z
    .object({
      choices: z.array(z.object({ stop_reason: z.string().nullish() })).default([]),
      usage: Usage.nullish(),
    })
    .nullish(),
  scores: z.record(z.string(), SampleScore).nullish(),
  model_usage: z.record(z.string(), Usage).nullish(),
  total_time: number,
  error: LoggedError.nullish(),
  limit: z.object({ type: z.string() }).nullish(),
});
export type LoggedSample = z.infer<typeof LoggedSample>;
