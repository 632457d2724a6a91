import type { Message, TemplateArguments } from '../core/conversation';
import { DomainError } from '../core/errors';
import { fromJson, toValue } from './jinja/json';
import type { Value } from './jinja/values';
import { isList } from './jinja/values';
import { isRecord, parseJson } from './reply-blocks';
import type { ChatTemplate } from './template-environment';
import { compileTemplate } from './template-environment';
import type { ReasoningField } from './template-message';
import { reasoningFieldOf, TOOL_CALL_SPELLINGS, toTemplateMessage } from './template-message';
import type { ChatTokenizer } from './tokenizers/hugging-face-tokenizer';

/** A first message of this role holds the tools as JSON; it is handed to the template beside the conversation. */
export const TOOL_DECLARATION_ROLE = 'tool_declare';

/** A model's chat template, which writes conversations as text. */
export class TemplateText {
  /** Whether the template reads tools at all. */
  readonly hasTools: boolean;
  private readonly template: ChatTemplate;
  private readonly reasoning: ReasoningField;
  private readonly given: Readonly<Record<string, Value>>;

  constructor(
    private readonly tokenizer: ChatTokenizer,
    source: string,
    given: TemplateArguments,
  ) {
    this.given = Object.fromEntries(Object.entries(given).map(([name, value]) => [name, toValue(value)]));
    this.template = compileTemplate(source);
    this.reasoning = reasoningFieldOf(source);
    this.hasTools = /\btools\b/.test(source);
  }

  /** In the first spelling of tool calls that the template can read. */
  render(messages: readonly Message[], addGenerationPrompt: boolean): string {
    const tools = toolsOf(messages[0]);
    const spoken = messages.filter((message) => message.role !== TOOL_DECLARATION_ROLE);
    let failure: unknown;
    for (const spelling of TOOL_CALL_SPELLINGS) {
      try {
        return this.template({
          ...this.given,
          messages: spoken.map((message) =>
            toValue(toTemplateMessage(message, { ...spelling, reasoning: this.reasoning })),
          ),
          tools,
          documents: null,
          add_generation_prompt: addGenerationPrompt,
          bos_token: this.tokenizer.bosToken ?? '',
          eos_token: this.tokenizer.eosToken ?? '',
        });
      } catch (error) {
        failure ??= error;
      }
    }
    throw this.refusal(spoken, failure);
  }

  private refusal(messages: readonly Message[], error: unknown): DomainError {
    const detail = isRecord(error) && typeof error['message'] === 'string' ? error['message'] : null;
    const roles = messages.map((message) => message.role).join(', ');
    return new DomainError(
      'bad-dataset',
      `The chat template of "${this.tokenizer.source}" refuses the conversation (${roles}): ${detail ?? 'it cannot write their tool calls'}. ` +
        'Correct the order of roles, or use another renderer.',
      { cause: error },
    );
  }
}

/** In OpenAI's nesting, as templates read them. */
function toolsOf(message: Message | undefined): Value {
  if (message?.role !== TOOL_DECLARATION_ROLE || typeof message.content !== 'string') return null;
  const tools = 'value' in parseJson(message.content) ? fromJson(message.content) : null;
  if (!isList(tools)) return null;
  return tools.map(
    (tool) =>
      new Map<Value, Value>([
        ['type', 'function'],
        ['function', tool],
      ]),
  );
}
