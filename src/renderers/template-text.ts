import type { Message, TemplateArguments } from '../core/conversation';
import { DomainError } from '../core/errors';
import { ReadingTime, TooLongToRead } from '../sandboxes/read-within';
import { fromJson, toValue } from './jinja/json';
import { EndlessTemplate } from './jinja/template-error';
import type { Value } from './jinja/values';
import { isList, isMap } from './jinja/values';
import { isRecord, parseJson } from './reply-blocks';
import type { ChatTemplate } from './template-environment';
import { compileTemplate } from './template-environment';
import type { ReasoningField } from './template-message';
import { reasoningFieldOf, TOOL_CALL_SPELLINGS, toTemplateMessage } from './template-message';
import type { ChatTokenizer } from './tokenizers/hugging-face-tokenizer';

/** A first message of this role holds the tools as JSON; it is handed to the template beside the conversation. */
export const TOOL_DECLARATION_ROLE = 'tool_declare';

/** Of the processor's time, for all that is written of one conversation, which is written anew for each of its replies. */
const MOST_MS = 5000;
const MOST_MS_OF_MESSAGE = 50;
/** Of a conversation, that its refusal names. */
const MOST_ROLES = 20;

/** A model's chat template, which writes conversations as text. */
export class TemplateText {
  /** Whether the template reads tools at all. */
  readonly hasTools: boolean;
  private readonly template: ChatTemplate;
  private readonly reasoning: ReasoningField;
  private readonly given: Readonly<Record<string, Value>>;
  private time = new ReadingTime(MOST_MS);

  constructor(
    private readonly tokenizer: ChatTokenizer,
    source: string,
    given: TemplateArguments,
  ) {
    this.given = Object.fromEntries(Object.entries(given).map(([name, value]) => [name, toValue(value)]));
    this.template = compiled(source, tokenizer.source);
    this.reasoning = reasoningFieldOf(source);
    this.hasTools = /\btools\b/.test(source);
  }

  /** What is written from here on is of another conversation, and may take as long as one of so many messages. */
  beginConversation(messages: readonly Message[]): void {
    this.time = new ReadingTime(MOST_MS + messages.length * MOST_MS_OF_MESSAGE);
  }

  /** In the first spelling of tool calls that the template can read. */
  render(messages: readonly Message[], addGenerationPrompt: boolean): string {
    const tools = this.toolsOf(messages);
    const spoken = messages.filter((message) => message.role !== TOOL_DECLARATION_ROLE);
    let failure: unknown;
    for (const spelling of TOOL_CALL_SPELLINGS) {
      try {
        return this.inTime({
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
        if (error instanceof EndlessTemplate || error instanceof RangeError) break;
      }
    }
    throw this.refusal(spoken, failure);
  }

  private inTime(values: Readonly<Record<string, Value>>): string {
    try {
      return this.time.read(() => this.template(values));
    } catch (error) {
      if (!(error instanceof TooLongToRead)) throw error;
      throw new EndlessTemplate('it takes longer to write than any honest one');
    }
  }

  /**
   * Of the first message, where that declares some.
   *
   * @throws DomainError `bad-dataset` where a declaration stands elsewhere or is no list of tools.
   */
  private toolsOf(messages: readonly Message[]): Value {
    const declarations = messages.filter(({ role }) => role === TOOL_DECLARATION_ROLE);
    if (declarations.length === 0) return null;
    const [{ role, content } = { role: '', content: '' }] = messages;
    const text = declarations.length === 1 && role === TOOL_DECLARATION_ROLE ? content : null;
    const tools = typeof text === 'string' && 'value' in parseJson(text) ? fromJson(text) : null;
    if (isList(tools)) return Array.from(tools, nested);
    throw new DomainError(
      'bad-dataset',
      `The chat template of "${this.tokenizer.source}" is given its tools beside the conversation: a message of role "${TOOL_DECLARATION_ROLE}" has to be the first and to be a JSON list of tools. Declare them under "tools".`,
    );
  }

  private refusal(messages: readonly Message[], error: unknown): DomainError {
    const detail = isRecord(error) && typeof error['message'] === 'string' ? error['message'] : null;
    const roles = messages.slice(0, MOST_ROLES).map((message) => message.role);
    const isCut = messages.length > MOST_ROLES;
    const remedy =
      error instanceof EndlessTemplate || error instanceof RangeError
        ? "Correct it in the model's folder, or use another renderer."
        : 'Correct the order of roles, or use another renderer.';
    return new DomainError(
      'bad-dataset',
      `The chat template of "${this.tokenizer.source}" refuses the conversation (${roles.join(', ')}${isCut ? ', …' : ''}): ${detail ?? 'it cannot write their tool calls'}. ` +
        remedy,
      { cause: error },
    );
  }
}

function compiled(template: string, source: string): ChatTemplate {
  try {
    return compileTemplate(template);
  } catch (error) {
    const detail = error instanceof Error ? error.message : String(error);
    const reason = error instanceof RangeError ? 'it is nested too deep' : detail;
    throw new DomainError(
      'unknown-renderer',
      `The chat template of "${source}" cannot be read: ${reason}. Correct it in the model's folder, or use another renderer.`,
      { cause: error },
    );
  }
}

/** Each in OpenAI's nesting, as templates read them. */
function nested(tool: Value): Value {
  if (isMap(tool) && isMap(tool.get('function'))) return tool;
  return new Map<Value, Value>([
    ['type', 'function'],
    ['function', tool],
  ]);
}
