import { z } from 'zod';
import { Usage } from './chat-schemas';
import { ignoredFields, neutralFields, samplingFields } from './sampling-schemas';
import { TokenList } from './token-list';

const MOST_PROMPTS = 1024;

export const CompletionBody = z
  .strictObject({
    ...samplingFields,
    ...neutralFields,
    ...ignoredFields,
    prompt: z
      .union([
        z.string(),
        TokenList,
        z.array(z.string()).min(1).max(MOST_PROMPTS),
        z.array(TokenList).min(1).max(MOST_PROMPTS),
      ])
      .describe('A text, its tokens, or a list of either'),
    echo: z
      .boolean()
      .nullish()
      .describe('Gives the prompt back before the completion, with its log-probabilities'),
    logprobs: z.int().min(0).max(20).nullish(),
    best_of: z.int().nullish(),
    suffix: z.literal('', { error: 'Text cannot be filled in before a suffix: leave it out' }).nullish(),
  })
  .meta({ id: 'CompletionRequest' });
export type CompletionBody = z.infer<typeof CompletionBody>;

export const CompletionLogprobs = z
  .object({
    tokens: z.array(z.string()),
    token_logprobs: z.array(z.number().nullable()),
    top_logprobs: z.array(z.record(z.string(), z.number()).nullable()).nullable(),
    text_offset: z.array(z.int()),
  })
  .meta({ id: 'CompletionLogprobs' });
export type CompletionLogprobs = z.infer<typeof CompletionLogprobs>;

const CompletionChoice = z.object({
  index: z.int(),
  text: z.string(),
  logprobs: CompletionLogprobs.nullable(),
  finish_reason: z.enum(['stop', 'length']).nullable(),
});
export type CompletionChoice = z.infer<typeof CompletionChoice>;

export const CompletionAnswer = z
  .object({
    id: z.string(),
    object: z.literal('text_completion'),
    created: z.int(),
    model: z.string(),
    choices: z.array(CompletionChoice),
    usage: Usage.nullish(),
  })
  .meta({ id: 'Completion' });
export type CompletionAnswer = z.infer<typeof CompletionAnswer>;
