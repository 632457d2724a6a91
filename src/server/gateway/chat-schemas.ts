import { z } from 'zod';
import { DEEPEST_JSON, isDeeperThan, isDeepText, TOO_DEEP } from '../../core/json-depth';
import { hasMoreEntriesThan } from '../../core/json-entries';
import { untilFault } from '../http/until-fault';
import { ignoredFields, neutralFields, samplingFields, unmet } from './sampling-schemas';

/** The part of OpenAI's chat completions that a training service can answer. */

const MOST_MESSAGES = 4096;
/** Keys and list entries in the schemas of all tools: four times the properties that OpenAI takes in one. */
const MOST_SCHEMA_ENTRIES = 20_000;

const ONLY_FUNCTIONS = 'Of tools only those of type "function" are taken';

const TextPart = z.strictObject({
  type: z.literal('text', { error: 'Of parts of a content only those of type "text" are taken' }),
  text: z.string(),
});
const Text = z.union([z.string(), untilFault(z.array(TextPart))]);

/** Of a refusal, which ends it as a sentence. */
const DEEP = TOO_DEEP.replace(/\.$/, '');
const Arguments = z.string().refine((text) => !isDeepText(text), { error: DEEP });
const Schema = z
  .record(z.string(), z.unknown())
  .refine((schema) => !isDeeperThan(schema, DEEPEST_JSON), { error: DEEP });

const ToolCall = z
  .strictObject({
    id: z.string().optional(),
    type: z.literal('function', { error: ONLY_FUNCTIONS }).default('function'),
    function: z.strictObject({ name: z.string().min(1), arguments: Arguments }),
    index: z.int().nullish().describe('Of calls that were streamed'),
  })
  .meta({ id: 'ToolCall' });

const InstructionMessage = z.strictObject({
  role: z.enum(['system', 'developer']),
  content: Text,
  name: z.string().optional(),
});
const UserMessage = z.strictObject({
  role: z.literal('user'),
  content: Text,
  name: z.string().optional(),
});
/** What clients write out of an answer and say nothing with. */
const emptyFields = {
  refusal: unmet('No prompt format writes a refusal; its text may stand in content'),
  audio: unmet('Messages are text alone'),
  function_call: unmet('Calls are taken as tool_calls'),
  annotations: z
    .array(z.unknown())
    .max(0, { error: 'No prompt format writes annotations: leave it out, or give []' })
    .nullish(),
};

const FORCED = 'A call cannot be forced, the weights alone decide: leave it out, or give "auto" or "none"';
const FORMAT = 'Answers cannot be forced into a format: leave it out, or give "text"';
const MODALITIES = 'Answers are text alone: leave it out, or give ["text"]';
const FUNCTIONS = 'Functions are declared as tools: give them in tools, with type "function"';

/** Of OpenAI's chat, what no training service does. */
const unmetFields = {
  audio: unmet('Answers are text alone'),
  web_search_options: unmet('Nothing is searched for an answer'),
  reasoning_effort: unmet('How long the model thinks cannot be set; max_tokens limits the whole answer'),
  verbosity: unmet('How much the model writes cannot be set; max_tokens limits the whole answer'),
};

const AssistantMessage = z.strictObject({
  role: z.literal('assistant'),
  content: Text.nullish(),
  reasoning_content: z
    .string()
    .nullish()
    .describe('What it thought before it spoke, for renderers that know reasoning'),
  tool_calls: untilFault(z.array(ToolCall)).nullish(),
  name: z.string().optional(),
  ...emptyFields,
});
const ToolMessage = z.strictObject({
  role: z.literal('tool'),
  content: Text,
  tool_call_id: z.string(),
  name: z.string().optional(),
});

export const ChatMessage = z
  .discriminatedUnion('role', [InstructionMessage, UserMessage, AssistantMessage, ToolMessage])
  .meta({ id: 'ChatMessage' });
export type ChatMessage = z.infer<typeof ChatMessage>;

const Tool = z
  .strictObject({
    type: z.literal('function', { error: ONLY_FUNCTIONS }),
    function: z.strictObject({
      name: z.string().min(1).max(200),
      description: z.string().nullish(),
      parameters: Schema.nullish(),
      // Taken from clients that always ask for it; no grammar holds the model to the schema, as without it.
      strict: z.boolean().nullish(),
    }),
  })
  .meta({ id: 'Tool' });

const LARGE_TOOLS = `the schemas of the tools hold more than ${MOST_SCHEMA_ENTRIES.toLocaleString('en')} keys and list entries. Declare fewer tools or simpler ones`;

function areSmall(tools: readonly z.infer<typeof Tool>[]): boolean {
  const schemas = tools.map(({ function: { parameters } }) => parameters ?? {});
  return !hasMoreEntriesThan(schemas, MOST_SCHEMA_ENTRIES);
}

export const ChatBody = z
  .strictObject({
    ...samplingFields,
    ...neutralFields,
    ...ignoredFields,
    messages: untilFault(z.array(ChatMessage).min(1).max(MOST_MESSAGES)),
    max_completion_tokens: z.int().min(1).nullish(),
    logprobs: z.boolean().nullish(),
    top_logprobs: z.int().min(0).max(20).nullish(),
    tools: z.array(Tool).max(256).refine(areSmall, { error: LARGE_TOOLS }).nullish(),
    tool_choice: z
      .enum(['auto', 'none'], { error: FORCED })
      .nullish()
      .describe('A call cannot be forced: the weights alone decide'),
    parallel_tool_calls: z.boolean().nullish().describe('false: an answer has its first call alone'),
    response_format: z.object({ type: z.literal('text', { error: FORMAT }) }, { error: FORMAT }).nullish(),
    functions: z.array(z.unknown(), { error: FUNCTIONS }).max(0, { error: FUNCTIONS }).nullish(),
    function_call: z.enum(['auto', 'none'], { error: FORCED }).nullish(),
    modalities: z
      .array(z.literal('text', { error: MODALITIES }), { error: MODALITIES })
      .max(1, { error: MODALITIES })
      .nullish(),
    prediction: z.looseObject({}).nullish().describe('Makes other services faster; changes no answer'),
    ...unmetFields,
  })
  .meta({ id: 'ChatCompletionRequest' });
export type ChatBody = z.infer<typeof ChatBody>;

const TokenLogprob = z.object({
  token: z.string(),
  logprob: z.number(),
  bytes: z.array(z.int()).nullable().describe('UTF-8; null where the token is a part of a character'),
});
const ContentLogprob = TokenLogprob.extend({ top_logprobs: z.array(TokenLogprob) });
export type ContentLogprob = z.infer<typeof ContentLogprob>;
export type NamedLogprob = z.infer<typeof TokenLogprob>;

const ChatLogprobs = z
  .object({ content: z.array(ContentLogprob).nullable(), refusal: z.null() })
  .meta({ id: 'ChatLogprobs' });

export const Usage = z
  .object({ prompt_tokens: z.int(), completion_tokens: z.int(), total_tokens: z.int() })
  .meta({ id: 'Usage' });
export type Usage = z.infer<typeof Usage>;

const AnsweredCall = z.object({
  id: z.string(),
  type: z.literal('function'),
  function: z.object({ name: z.string(), arguments: z.string() }),
});

export const AnsweredMessage = z.object({
  role: z.literal('assistant'),
  content: z.string().nullable(),
  refusal: z.null(),
  reasoning_content: z.string().optional(),
  tool_calls: z.array(AnsweredCall).optional(),
});
export type AnsweredMessage = z.infer<typeof AnsweredMessage>;

const FinishReason = z.enum(['stop', 'length', 'tool_calls']);
export type FinishReason = z.infer<typeof FinishReason>;

export const ChatAnswer = z
  .object({
    id: z.string(),
    object: z.literal('chat.completion'),
    created: z.int(),
    model: z.string(),
    choices: z.array(
      z.object({
        index: z.int(),
        message: AnsweredMessage,
        logprobs: ChatLogprobs.nullable(),
        finish_reason: FinishReason,
      }),
    ),
    usage: Usage,
  })
  .meta({ id: 'ChatCompletion' });
export type ChatAnswer = z.infer<typeof ChatAnswer>;

const DeltaCall = AnsweredCall.extend({ index: z.int() });

export const ChatChunk = z
  .object({
    id: z.string(),
    object: z.literal('chat.completion.chunk'),
    created: z.int(),
    model: z.string(),
    choices: z.array(
      z.object({
        index: z.int(),
        delta: AnsweredMessage.omit({ tool_calls: true })
          .extend({ tool_calls: z.array(DeltaCall) })
          .partial(),
        logprobs: ChatLogprobs.nullable(),
        finish_reason: FinishReason.nullable(),
      }),
    ),
    usage: Usage.nullish(),
  })
  .meta({ id: 'ChatCompletionChunk' });
export type ChatChunk = z.infer<typeof ChatChunk>;
