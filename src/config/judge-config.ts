import { z } from 'zod';
import { DomainError } from '../core/errors';
import { secretParameterOf } from '../core/secret-parameters';
import { CheckpointReference } from './checkpoint-reference';

export const MOST_JUDGES = 32;
export const MOST_VOTES = 32;

export const Judge = z.strictObject({
  model: z.string().min(1).optional().describe('Name of the model; of a run of ours it is known'),
  endpoint: z
    .url({ protocol: /^https?$/, error: 'Give an http or https address' })
    .refine((url) => !/^https?:\/\/[^/]*@/.test(url), 'an address that is stored holds no user or password')
    .refine(
      (url) => secretParameterOf(url) === null,
      'an address that is stored holds no key; set EVERSTEP_JUDGE_API_KEY, or OPENAI_API_KEY, where the workers run',
    )
    .optional()
    .describe(
      'Base URL of an OpenAI-compatible endpoint; its key is EVERSTEP_JUDGE_API_KEY, else OPENAI_API_KEY, where the workers run',
    ),
  api: z.enum(['chat', 'completions']).default('chat').describe('Which API of the endpoint is spoken'),
  checkpoint: CheckpointReference.optional().describe(
    'RUN, RUN@STEP, RUN@best, or the URI of sampler weights',
  ),
  engine: z.string().min(1).optional().describe('Training service that has the weights'),
  renderer: z.string().min(1).optional().describe('How conversations become tokens'),
  templateArguments: z.record(z.string(), z.json()).optional().describe('Variables of the chat template'),
  temperature: z.number().min(0).max(10).default(0),
  topP: z.number().positive().max(1).default(1),
  maxTokens: z.int().min(1).optional().describe('Tokens a judgement may have; default what is judged needs'),
  votes: z
    .int()
    .min(1)
    .max(MOST_VOTES)
    .default(1)
    .describe('How often it votes, each time with another seed'),
  concurrency: z.int().min(1).max(4096).default(16).describe('Requests in flight'),
  timeoutSeconds: z.number().positive().max(604_800).default(300).describe('Of one judgement'),
  cache: z.boolean().default(true).describe('Use what it said in other runs to the same request'),
});
export type JudgeConfig = z.infer<typeof Judge>;

/** One judge, or several who decide by majority; a bare word is the name of a model, or MODEL@URL. */
export const JudgesConfig = z
  .preprocess(
    (value: JudgesInput) =>
      (Array.isArray(value) ? value : [value]).map((judge: unknown) =>
        typeof judge === 'string' ? namedJudge(judge) : judge,
      ),
    z.array(Judge).min(1).max(MOST_JUDGES),
  )
  .meta({
    description: 'The model that judges, or a list of models that decide by majority',
    // Read by the published JSON schema: one may stand alone.
    oneOrMany: true,
  });

/** `MODEL`, or `MODEL@URL` with the endpoint of the model. */
export function namedJudge(name: string): { readonly model: string; readonly endpoint?: string } {
  const at = name.search(/@https?:\/\//);
  return at < 0 ? { model: name } : { model: name.slice(0, at), endpoint: name.slice(at + 1) };
}

/** What a `modelGraded` evaluator has beside its name, dataset and sampling. */
export const ModelGradedEvaluatorParts = {
  method: z
    .enum(['qa', 'fact', 'score', 'rubric'])
    .default('qa')
    .describe(
      'qa: does it meet the criterion; fact: does it state the facts of the target; score: a rating; rubric: items scored one by one',
    ),
  judge: JudgesConfig,
  partialCredit: z.boolean().default(false).describe('qa, fact: also offer P, which counts a half'),
  template: z
    .string()
    .min(1)
    .optional()
    .describe('qa, fact: in place of ours; may name {question}, {answer}, {criterion} and {instructions}'),
  instructions: z.string().min(1).optional().describe('qa, fact: in place of ours, at the end'),
  scale: z
    .tuple([z.int().min(0), z.int().min(1)])
    .refine(([lowest, highest]) => lowest < highest, 'the first is the lowest')
    .default([1, 10])
    .describe('score: lowest and highest rating'),
  rubric: z
    .array(z.string().min(1))
    .min(1)
    .optional()
    .describe('rubric: the items; default the list in the field `rubric` of each row'),
};

/** What a `comparison` evaluator has beside its name, dataset and sampling. */
export const ComparisonEvaluatorParts = {
  by: z
    .enum(['judge', 'preference'])
    .default('judge')
    .describe('preference: a model that says A, B or Tie as its next token'),
  judge: JudgesConfig,
  baseline: z
    .union([
      z.enum(['target', 'base']),
      z.strictObject({
        checkpoint: CheckpointReference.describe('RUN@STEP, RUN@best, or tinker://… of this model'),
      }),
    ])
    .default('target')
    .describe(
      'What is compared with: `target`, the last reply of each conversation; `base`, the base model; or a checkpoint',
    ),
};

type JudgeInput = string | z.input<typeof Judge>;
/** Judges as a person writes them. */
export type JudgesInput = JudgeInput | readonly JudgeInput[];

/** Checks and completes judges that are given by themselves. */
export function parseJudges(value: unknown): JudgeConfig[] {
  const parsed = JudgesConfig.safeParse(value, { reportInput: true });
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  const key = ['judge', ...(issue?.path ?? [])].join('.');
  throw new DomainError('bad-config', `${key}: ${issue?.message ?? 'cannot be read'}`);
}
