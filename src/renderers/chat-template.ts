import type { ToolDeclaration } from '../core/completion';
import type { Message, RenderedExample, TrainOnWhat } from '../core/conversation';
import { DomainError } from '../core/errors';
import type { Tokenizer } from '../core/tokenizer';
import type { GenerationPromptOptions, ParsedReply, Renderer } from './renderer';
import type { ReplyDialect } from './template-dialects';
import { findDialect } from './template-dialects';
import { TemplateText, TOOL_DECLARATION_ROLE } from './template-text';
import type { ChatTokenizer } from './tokenizers/hugging-face-tokenizer';
import { checkMessages, trainedMessages } from './training-weights';
import { requireWritten } from './written-words';

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
const QUESTION: Message = { role: 'user', content: 'a' };
const REPLY: Message = { role: 'assistant', content: MARKER };
const LONGEST_MARKER = 64;
const OPENED_REASONING = /<think>\s*$/;

interface Span {
  readonly start: number;
  readonly end: number;
}

class ChatTemplateRenderer implements Renderer {
  readonly name = 'chat_template';
  readonly hasExtensionProperty: boolean;
  private readonly template: TemplateText;
  private readonly dialect: ReplyDialect;
  private readonly stopToken: number;
  private readonly stopText: string;
  /** The template writes nothing after a reply: the next speaker's marker ends it, and none stands after the last one. */
  private readonly isEndless: boolean;
  /** Ends a reply that calls a tool, in formats where that is another token. */
  private readonly callStops: readonly number[];

  constructor(
    private readonly tokenizer: ChatTokenizer,
    source: string,
  ) {
    this.template = new TemplateText(tokenizer, source);
    this.dialect = findDialect(source, this.render([{ role: 'user', content: 'a' }], true));
    const end = this.tokenAfter([REPLY]);
    this.isEndless = end === null;
    this.stopToken = end ?? this.findMarker();
    this.callStops = this.encode(this.dialect.callStop);
    this.stopText = tokenizer.decode([this.stopToken]);
    this.hasExtensionProperty = this.keepsHistory();
  }

  buildGenerationPrompt(messages: readonly Message[], options: GenerationPromptOptions = {}): number[] {
    const text = this.render(messages, true);
    requireWritten(messages, { renderer: this.name, text }, 'prompt');
    return this.encode(text + (options.prefill ?? ''));
  }

  buildSupervisedExample(messages: readonly Message[], trainOnWhat: TrainOnWhat): RenderedExample {
    checkMessages(messages, trainOnWhat);
    const trained = trainedMessages(messages, trainOnWhat);
    const text = this.render(messages, false) + (this.isEndless ? this.endAfter(messages) : '');
    requireWritten(messages, { renderer: this.name, text }, 'whole');
    const spans =
      trainOnWhat === 'allTokens'
        ? [{ start: 0, end: text.length }]
        : messages.flatMap(({ role }, index) =>
            trained[index] && role !== TOOL_DECLARATION_ROLE ? [this.spanOf(messages, index, text)] : [],
          );
    return this.encodeSpans(text, spans);
  }

  parseCompletion(completion: readonly number[]): ParsedReply {
    const isStop = (token: number) => this.stopSequences().includes(token);
    const stopCount = completion.filter(isStop).length;
    const endsWithEos =
      stopCount === 0 && completion.length > 0 && completion.at(-1) === this.tokenizer.eosTokenId;
    const bodyEnd = stopCount > 0 ? completion.findIndex(isStop) : completion.length - (endsWithEos ? 1 : 0);
    const text = this.tokenizer.decode(completion.slice(0, bodyEnd));
    if (stopCount === 1) return { ...this.dialect.parseReply(text), termination: 'stop_sequence' };
    if (endsWithEos) return { ...this.dialect.parseReply(text), termination: 'eos' };
    return { message: { role: 'assistant', content: text }, termination: 'malformed' };
  }

  declareTools(tools: readonly ToolDeclaration[], systemPrompt: string): Message[] {
    if (tools.length > 0 && !this.template.hasTools) {
      throw new DomainError(
        'bad-config',
        `The chat template of "${this.tokenizer.source}" declares no tools. Use a model whose template does, or put the tools into the system prompt.`,
      );
    }
    return [
      ...(tools.length > 0 ? [{ role: TOOL_DECLARATION_ROLE, content: JSON.stringify(tools) }] : []),
      ...(systemPrompt === '' ? [] : [{ role: 'system', content: systemPrompt }]),
    ];
  }

  stopSequences(): readonly number[] {
    const eos = this.isEndless && this.tokenizer.eosTokenId !== null ? [this.tokenizer.eosTokenId] : [];
    return [...new Set([this.stopToken, ...this.callStops, ...eos])];
  }

  /** Where the loss of one message begins and ends in the text of the whole conversation. */
  private spanOf(messages: readonly Message[], index: number, text: string): Span {
    const isReply = messages[index]?.role === 'assistant';
    const through = messages.slice(0, index + 1);
    const { prefix, start } = isReply ? this.replySpan(through) : this.statementSpan(through);
    if (text.startsWith(prefix) && start <= prefix.length) {
      return {
        start,
        end: prefix.length + (isReply && this.isEndless ? this.markerLength(text, prefix.length) : 0),
      };
    }
    const [what, modes] =
      through.length < messages.length
        ? [
            `writes the first ${through.length} messages differently when more follow (templates that drop reasoning from history do)`,
            '"lastAssistantMessage" or "allTokens"',
          ]
        : [`writes messages[${index}] otherwise than its own prompt opens it`, '"allTokens"'];
    throw new DomainError(
      'bad-dataset',
      `The chat template of "${this.tokenizer.source}" ${what}, so that it cannot be told which tokens the loss belongs to. ` +
        `Use trainOnWhat ${modes}, or a renderer made for the model.`,
    );
  }

  /**
   * A reply begins where the prompt ends and ends with its stop token; what the template adds after that is not said.
   * Where it writes a reply that did not reason without the block its prompt opens, the reply begins before the block.
   */
  private replySpan(messages: readonly Message[]): { prefix: string; start: number } {
    const prompt = this.render(messages.slice(0, -1), true);
    const prefix = this.cutAfterStop(this.render(messages, false), prompt.length);
    const opened = [prompt, prompt.replace(OPENED_REASONING, '')].find((text) => prefix.startsWith(text));
    return { prefix, start: opened?.length ?? Number.POSITIVE_INFINITY };
  }

  /** Other messages begin and end with their words, found by writing the conversation with others in their place. */
  private statementSpan(messages: readonly Message[]): { prefix: string; start: number } {
    const text = this.render(messages, false);
    const marked = this.render(
      messages.map((message, index) =>
        index === messages.length - 1 ? { ...message, content: MARKER } : message,
      ),
      false,
    );
    const start = marked.lastIndexOf(MARKER);
    const after = marked.slice(start + MARKER.length);
    if (start < 0 || !text.endsWith(after) || text.slice(0, start) !== marked.slice(0, start)) {
      return { prefix: text, start: Number.POSITIVE_INFINITY };
    }
    const end = text.length - after.length;
    return {
      prefix: text.slice(0, after.startsWith(this.stopText) ? end + this.stopText.length : end),
      start,
    };
  }

  private cutAfterStop(text: string, from: number): string {
    const stop = text.lastIndexOf(this.stopText);
    return stop < from ? text : text.slice(0, stop + this.stopText.length);
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
    return this.template.render(messages, addGenerationPrompt);
  }

  private encode(text: string): number[] {
    return text === '' ? [] : this.tokenizer.encode(text, { allowSpecial: true });
  }

  /** The first special token that the template writes after the words of a reply; null where it writes none. */
  private tokenAfter(following: readonly Message[]): number | null {
    const text = this.render([QUESTION, ...following], false);
    const after = this.encode(text.slice(text.lastIndexOf(MARKER) + MARKER.length));
    return after.find((token) => this.tokenizer.isSpecial(token)) ?? null;
  }

  /** What ends a reply after which the template writes nothing: the marker of whoever speaks next. */
  private findMarker(): number {
    const marker = this.tokenAfter([REPLY, QUESTION]) ?? this.tokenizer.eosTokenId;
    if (marker !== null) return marker;
    throw new DomainError(
      'bad-config',
      `The chat template of "${this.tokenizer.source}" ends a reply with no special token, and its tokenizer has no eos_token. Use role_colon.`,
    );
  }

  /** After a last reply, what generation stops at. */
  private endAfter(messages: readonly Message[]): string {
    return messages.at(-1)?.role === 'assistant' ? this.stopText : '';
  }

  /** Of the token that follows a reply. */
  private markerLength(text: string, end: number): number {
    const [first] = this.encode(text.slice(end, end + LONGEST_MARKER));
    if (first !== undefined && this.tokenizer.isSpecial(first)) return this.tokenizer.decode([first]).length;
    throw new DomainError(
      'bad-dataset',
      `The chat template of "${this.tokenizer.source}" writes no token at the end of a reply, so that nothing would teach the model to stop. Use another renderer.`,
    );
  }

  /** Whether a reply that reasoned, in either spelling, stands in later prompts as it was sampled. */
  private keepsHistory(): boolean {
    const question: Message = { role: 'user', content: 'a' };
    const raw: Message = { role: 'assistant', content: '<think>\nb\n</think>\n\nc' };
    const parts: Message = {
      role: 'assistant',
      content: [
        { type: 'thinking', thinking: 'b' },
        { type: 'text', text: 'c' },
      ],
    };
    const asSampled = this.render([question], true) + '<think>\nb\n</think>\n\nc';
    return (
      this.render([question, raw, question], true).startsWith(asSampled) &&
      this.render([question, parts, question], true).startsWith(this.replySpan([question, parts]).prefix)
    );
  }
}

function isChatTokenizer(tokenizer: Tokenizer): tokenizer is ChatTokenizer {
  return 'chatTemplate' in tokenizer && 'source' in tokenizer;
}
