import { Template } from '@huggingface/jinja';
import type { Message, RenderedExample, TrainOnWhat } from '../core/conversation';
import { DomainError } from '../core/errors';
import type { Tokenizer } from '../core/tokenizer';
import type { GenerationPromptOptions, ParsedReply, Renderer } from './renderer';
import { toTemplateMessage } from './template-message';
import type { ChatTokenizer } from './tokenizers/hugging-face-tokenizer';
import { trainedMessages } from './training-weights';

/**
 * Any model's own chat template.
 *
 * Loss weights come from rendering prefixes of the conversation: what message n adds begins where the render of the
 * messages before it ends. That holds only where the template writes a message the same way whatever follows; where
 * it does not, the example is refused. The template sees one text, so special tokens spelled out by a user are special.
 */
export function createChatTemplateRenderer(tokenizer: Tokenizer): Renderer {
  if (isChatTokenizer(tokenizer) && tokenizer.chatTemplate !== null) {
    return new ChatTemplateRenderer(tokenizer, tokenizer.chatTemplate);
  }
  throw new DomainError(
    'unknown-renderer',
    'Renderer "chat_template" needs a tokenizer with a chat template, and this one has none. Use role_colon, or a model with a template.',
  );
}

/** Stands for the words of a message when looking for what the template writes around them. */
const MARKER = 'everstep-content-marker';

interface Span {
  readonly start: number;
  readonly end: number;
}

class ChatTemplateRenderer implements Renderer {
  readonly name = 'chat_template';
  readonly hasExtensionProperty: boolean;
  private readonly template: Template;
  private readonly stopToken: number;

  constructor(
    private readonly tokenizer: ChatTokenizer,
    source: string,
  ) {
    this.template = new Template(source);
    this.stopToken = this.findStopToken();
    this.hasExtensionProperty = this.keepsHistory();
  }

  buildGenerationPrompt(messages: readonly Message[], options: GenerationPromptOptions = {}): number[] {
    return this.encode(this.render(messages, true) + (options.prefill ?? ''));
  }

  buildSupervisedExample(messages: readonly Message[], trainOnWhat: TrainOnWhat): RenderedExample {
    const trained = trainedMessages(messages, trainOnWhat);
    const text = this.render(messages, false);
    const spans =
      trainOnWhat === 'allTokens'
        ? [{ start: 0, end: text.length }]
        : messages.flatMap((_, index) => (trained[index] ? [this.spanOf(messages, index, text)] : []));
    return this.encodeSpans(text, spans);
  }

  parseCompletion(completion: readonly number[]): ParsedReply {
    const stopCount = completion.filter((token) => token === this.stopToken).length;
    const endsWithEos =
      stopCount === 0 && completion.length > 0 && completion.at(-1) === this.tokenizer.eosTokenId;
    const bodyEnd =
      stopCount > 0 ? completion.indexOf(this.stopToken) : completion.length - (endsWithEos ? 1 : 0);
    const content = this.tokenizer.decode(completion.slice(0, bodyEnd));
    const termination = stopCount === 1 ? 'stop_sequence' : endsWithEos ? 'eos' : 'malformed';
    return { message: { role: 'assistant', content }, termination };
  }

  stopSequences(): readonly number[] {
    return [this.stopToken];
  }

  /** Where the loss of one message begins and ends in the text of the whole conversation. */
  private spanOf(messages: readonly Message[], index: number, text: string): Span {
    const before = messages.slice(0, index);
    const message = messages[index];
    const start =
      message?.role === 'assistant'
        ? this.prefixLength(before, this.render(before, true), text)
        : this.prefixLength(before, this.headerOf(before, message), text);
    const through = messages.slice(0, index + 1);
    const end =
      through.length === messages.length
        ? text.length
        : this.prefixLength(through, this.render(through, false), text);
    return { start, end: this.stopEnd(text, start, end) };
  }

  /** What the template writes before the words of a message that no prompt opens. */
  private headerOf(before: readonly Message[], message: Message | undefined): string {
    const rendered = this.render([...before, { role: message?.role ?? 'user', content: MARKER }], false);
    return rendered.slice(0, Math.max(0, rendered.lastIndexOf(MARKER)));
  }

  private prefixLength(messages: readonly Message[], prefix: string, text: string): number {
    if (text.startsWith(prefix)) return prefix.length;
    throw new DomainError(
      'bad-dataset',
      `The chat template of "${this.tokenizer.source}" writes the first ${messages.length} messages differently when more follow ` +
        '(templates that drop reasoning from history do), so it cannot be told which tokens belong to which message. ' +
        'Use trainOnWhat "lastAssistantMessage", or a renderer made for the model.',
    );
  }

  /** Line breaks that a template writes after the stop token are no part of the reply. */
  private stopEnd(text: string, start: number, end: number): number {
    const stop = this.tokenizer.decode([this.stopToken]);
    const last = text.slice(start, end).lastIndexOf(stop);
    return last < 0 ? end : start + last + stop.length;
  }

  /** Pieces are encoded one by one, so that the tokens of a prompt are a prefix of the tokens trained on. */
  private encodeSpans(text: string, spans: readonly Span[]): RenderedExample {
    const tokens: number[][] = [];
    const weights: number[][] = [];
    const append = (piece: string, weight: number) => {
      const encoded = this.encode(piece);
      tokens.push(encoded);
      weights.push(encoded.map(() => weight));
    };
    let position = 0;
    for (const { start, end } of spans) {
      append(text.slice(position, start), 0);
      append(text.slice(start, end), 1);
      position = end;
    }
    append(text.slice(position), 0);
    return { tokens: tokens.flat(), weights: weights.flat() };
  }

  private render(messages: readonly Message[], addGenerationPrompt: boolean): string {
    try {
      return this.template.render({
        messages: messages.map(toTemplateMessage),
        add_generation_prompt: addGenerationPrompt,
        bos_token: this.tokenizer.bosToken ?? '',
        eos_token: this.tokenizer.eosToken ?? '',
      });
    } catch (error) {
      const detail = error instanceof Error ? error.message : String(error);
      throw new DomainError(
        'bad-dataset',
        `The chat template of "${this.tokenizer.source}" refuses the conversation (${messages.map((message) => message.role).join(', ')}): ${detail}. ` +
          'Correct the order of roles, or use another renderer.',
        { cause: error },
      );
    }
  }

  private encode(text: string): number[] {
    return text === '' ? [] : this.tokenizer.encode(text, { allowSpecial: true });
  }

  /** The first special token after a reply ends it; models whose template writes none end with end-of-text. */
  private findStopToken(): number {
    const text = this.render(
      [
        { role: 'user', content: 'a' },
        { role: 'assistant', content: MARKER },
      ],
      false,
    );
    const after = this.encode(text.slice(text.lastIndexOf(MARKER) + MARKER.length));
    const stop = after.find((token) => this.tokenizer.isSpecial(token)) ?? this.tokenizer.eosTokenId;
    if (stop !== null) return stop;
    throw new DomainError(
      'bad-config',
      `The chat template of "${this.tokenizer.source}" ends a reply with no special token, and its tokenizer has no eos_token. Use role_colon.`,
    );
  }

  private keepsHistory(): boolean {
    const first: Message[] = [
      { role: 'user', content: 'a' },
      {
        role: 'assistant',
        content: [
          { type: 'thinking', thinking: 'b' },
          { type: 'text', text: 'c' },
        ],
      },
    ];
    const whole = this.render(
      [...first, { role: 'user', content: 'd' }, { role: 'assistant', content: 'e' }],
      false,
    );
    return whole.startsWith(this.render(first, false));
  }
}

function isChatTokenizer(tokenizer: Tokenizer): tokenizer is ChatTokenizer {
  return 'chatTemplate' in tokenizer && 'source' in tokenizer;
}
