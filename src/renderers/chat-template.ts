import type { ToolDeclaration } from '../core/completion';
import type { Message, RenderedExample, TemplateArguments, TrainOnWhat } from '../core/conversation';
import { jsonText } from '../core/json-source';
import { DomainError } from '../core/errors';
import type { Tokenizer } from '../core/tokenizer';
import type { Span } from './encode-spans';
import { encodeSpans } from './encode-spans';
import { readReply } from './read-reply';
import type { GenerationPromptOptions, ParsedReply, Renderer } from './renderer';
import { requireRead } from './template-arguments';
import type { ReplyDialect } from './template-dialects';
import { findDialect } from './template-dialects';
import { TemplateText, TOOL_DECLARATION_ROLE } from './template-text';
import { orderToolAnswers } from './tool-answers';
import type { ChatTokenizer } from './tokenizers/hugging-face-tokenizer';
import { checkMessages, trainedMessages } from './training-weights';
import { requireEveryPiece, requireWritten } from './written-words';

/**
 * Any model's own chat template.
 *
 * Loss weights come from rendering prefixes of the conversation: what message n adds begins where the render of the
 * messages before it ends. That holds only where the template writes a message the same way whatever follows; where
 * it does not, the example is refused. The template sees one text, so special tokens spelled out by a user are special.
 */
export function createChatTemplateRenderer(
  tokenizer: Tokenizer,
  templateArguments: TemplateArguments = {},
): Renderer {
  if (isChatTokenizer(tokenizer) && tokenizer.chatTemplate !== null) {
    requireRead(tokenizer.source, tokenizer.chatTemplate, templateArguments);
    return new ChatTemplateRenderer(tokenizer, tokenizer.chatTemplate, templateArguments);
  }
  throw new DomainError(
    'unknown-renderer',
    'Renderer "chat_template" needs a tokenizer with a chat template, and this one has none. Use role_colon, or a model with a template.',
  );
}

/** Stands for the words of a message when looking for what the template writes around them. */
const MARKER = 'everstep-content-marker';
const QUESTION: Message = { role: 'user', content: 'a' };
const OPENED_REASONING = /<think>\s*$/;

class ChatTemplateRenderer implements Renderer {
  readonly name = 'chat_template';
  readonly hasExtensionProperty: boolean;
  private readonly template: TemplateText;
  private readonly dialect: ReplyDialect;
  private readonly stopToken: number;
  private readonly stopText: string;
  /** End a reply too: one that calls a tool, and what begins the next message where nothing ends a reply. */
  private readonly otherStops: readonly number[];
  /** Whether what begins the next message is all that ends a reply (GLM). */
  private readonly endsWithNext: boolean;
  /** Nothing that the template writes ends a reply, nor begins the next message. */
  private readonly isEndless: boolean;

  constructor(
    private readonly tokenizer: ChatTokenizer,
    private readonly source: string,
    readonly templateArguments: TemplateArguments,
  ) {
    this.template = new TemplateText(tokenizer, source, templateArguments);
    this.dialect = findDialect(source, this.render([{ role: 'user', content: 'a' }], true));
    const own = this.stopAfterReply([]);
    const next = own === null ? this.stopAfterReply([QUESTION]) : null;
    this.endsWithNext = next !== null;
    this.isEndless = own === null && next === null;
    this.stopToken = own ?? next ?? this.endOfText();
    this.otherStops = this.endsWithNext ? this.stopsOfCalls() : this.encode(this.dialect.callStop);
    this.stopText = tokenizer.decode([this.stopToken]);
    this.hasExtensionProperty = this.keepsHistory();
  }

  buildGenerationPrompt(given: readonly Message[], options: GenerationPromptOptions = {}): number[] {
    this.template.beginConversation(given);
    const messages = this.inOrder(given);
    const text = this.render(messages, true);
    requireEveryPiece(messages, { renderer: this.name, extent: 'prompt' }, (marked) =>
      this.render(marked, true),
    );
    requireWritten(messages, { renderer: this.name, text }, 'prompt');
    return this.encode(text + (options.prefill ?? ''));
  }

  buildSupervisedExample(given: readonly Message[], trainOnWhat: TrainOnWhat): RenderedExample {
    checkMessages(given, trainOnWhat);
    this.template.beginConversation(given);
    const messages = this.inOrder(given);
    const trained = trainedMessages(messages, trainOnWhat);
    const written = this.render(messages, false);
    requireEveryPiece(messages, { renderer: this.name, extent: 'whole' }, (marked) =>
      this.render(marked, false),
    );
    requireWritten(messages, { renderer: this.name, text: written, trained }, 'whole');
    if (trainOnWhat === 'allTokens') {
      return encodeSpans(written, [{ start: 0, end: written.length }], (piece) => this.encode(piece));
    }
    const text = written + (trained.at(-1) ? this.missingEnd(messages) : '');
    const spans = messages.flatMap(({ role }, index) =>
      trained[index] && role !== TOOL_DECLARATION_ROLE ? [this.spanOf(messages, index, text)] : [],
    );
    return encodeSpans(text, spans, (piece) => this.encode(piece));
  }

  parseCompletion(completion: readonly number[], tools: readonly ToolDeclaration[] = []): ParsedReply {
    const isStop = (token: number) => this.stopSequences().includes(token);
    const stopCount = completion.filter(isStop).length;
    const endsWithEos =
      stopCount === 0 && completion.length > 0 && completion.at(-1) === this.tokenizer.eosTokenId;
    const bodyEnd = stopCount > 0 ? completion.findIndex(isStop) : completion.length - (endsWithEos ? 1 : 0);
    const text = this.tokenizer.decode(completion.slice(0, bodyEnd));
    const read = () => this.dialect.parseReply(text, tools);
    if (stopCount === 1) return readReply(text, 'stop_sequence', read);
    return readReply(text, endsWithEos ? 'eos' : 'malformed', read);
  }

  declareTools(tools: readonly ToolDeclaration[], systemPrompt: string): Message[] {
    if (tools.length > 0 && !this.template.hasTools) {
      throw new DomainError(
        'bad-config',
        `The chat template of "${this.tokenizer.source}" declares no tools. Use a model whose template does, or put the tools into the system prompt.`,
      );
    }
    return [
      ...(tools.length > 0 ? [{ role: TOOL_DECLARATION_ROLE, content: jsonText(tools) }] : []),
      ...(systemPrompt === '' ? [] : [{ role: 'system', content: systemPrompt }]),
    ];
  }

  stopSequences(): readonly number[] {
    return [...new Set([this.stopToken, ...this.otherStops])];
  }

  /** Where the loss of one message begins and ends in the text of the whole conversation. */
  private spanOf(messages: readonly Message[], index: number, text: string): Span {
    const isReply = messages[index]?.role === 'assistant';
    if (isReply && this.isEndless) throw this.neverStops();
    const through = messages.slice(0, index + 1);
    const { prefix, start } = isReply ? this.replySpan(through) : this.statementSpan(through);
    if (text.startsWith(prefix) && start <= prefix.length) {
      return { start, end: prefix.length + (isReply ? this.nextMark(text, prefix.length).length : 0) };
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
    const prompt = messages.length === 1 ? this.promptOfNothing() : this.render(messages.slice(0, -1), true);
    const text = this.render(messages, false);
    const opened = [prompt, prompt.replace(OPENED_REASONING, '')].find((begin) => text.startsWith(begin));
    const prefix = this.cutAfterStop(text, opened?.length ?? prompt.length);
    return { prefix, start: opened?.length ?? Number.POSITIVE_INFINITY };
  }

  /** Before a reply that begins its conversation. Templates that look at the first message refuse to write none. */
  private promptOfNothing(): string {
    try {
      return this.render([], true);
    } catch (error) {
      if (!(error instanceof DomainError)) throw error;
      const opening = this.render([QUESTION], true).slice(this.render([QUESTION], false).length);
      const reply = this.render([{ role: 'assistant', content: MARKER }], false);
      const head = reply.slice(0, reply.indexOf(MARKER));
      return head.slice(0, head.lastIndexOf(opening.replace(OPENED_REASONING, ''))) + opening;
    }
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

  private inOrder(messages: readonly Message[]): readonly Message[] {
    return this.source.includes('tool_call_id') ? messages : orderToolAnswers(messages);
  }

  private render(messages: readonly Message[], addGenerationPrompt: boolean): string {
    return this.template.render(messages, addGenerationPrompt);
  }

  private encode(text: string): number[] {
    return text === '' ? [] : this.tokenizer.encode(text, { allowSpecial: true });
  }

  /** What begins the next message, where that is what ends a reply. */
  private nextMark(text: string, position: number): string {
    if (!this.endsWithNext) return '';
    const marks = this.stopSequences().map((token) => this.tokenizer.decode([token]));
    return marks.find((mark) => text.startsWith(mark, position)) ?? '';
  }

  /** The end of a last reply that the template leaves to the next message. */
  private missingEnd(messages: readonly Message[]): string {
    const last = messages.at(-1);
    if (!this.endsWithNext || last?.role !== 'assistant') return '';
    const call = last.toolCalls?.length ? this.otherStops[0] : undefined;
    return this.tokenizer.decode([call ?? this.stopToken]);
  }

  /** The first special token after a reply, whose end that is. */
  private stopAfterReply(following: readonly Message[]): number | null {
    const reply = { role: 'assistant', content: MARKER };
    const text = this.render([QUESTION, reply, ...following], false);
    const after = this.encode(text.slice(text.lastIndexOf(MARKER) + MARKER.length));
    return after.find((token) => this.tokenizer.isSpecial(token)) ?? null;
  }

  /** What begins a tool's answer, and the end of text. Templates without tools refuse one, or write it as any message. */
  private stopsOfCalls(): number[] {
    const call: Message = {
      role: 'assistant',
      content: MARKER,
      toolCalls: [{ id: 'call', name: 'f', arguments: '{}' }],
    };
    const stops = this.tokenizer.eosTokenId === null ? [] : [this.tokenizer.eosTokenId];
    if (!this.template.hasTools) return stops;
    const alone = this.render([QUESTION, call], false);
    const answer: Message = { role: 'tool', content: 'a', name: 'f', toolCallId: 'call' };
    const answered = this.render([QUESTION, call, answer], false);
    const after = this.encode(answered.startsWith(alone) ? answered.slice(alone.length) : '');
    return [...after.slice(0, 1).filter((token) => this.tokenizer.isSpecial(token)), ...stops];
  }

  private neverStops(): DomainError {
    return new DomainError(
      'bad-dataset',
      `The chat template of "${this.tokenizer.source}" writes no token at the end of a reply, so that nothing would teach the model to stop. Use another renderer.`,
    );
  }

  /** Models whose template has no special token after a reply, nor before the next message, end with end-of-text. */
  private endOfText(): number {
    const { eosTokenId, source } = this.tokenizer;
    if (eosTokenId !== null) return eosTokenId;
    throw new DomainError(
      'bad-config',
      `The chat template of "${source}" ends a reply with no special token, and its tokenizer has no eos_token. Use role_colon.`,
    );
  }

  /** Whether a reply that reasoned, in either spelling, stands in later prompts as it was sampled. */
  private keepsHistory(): boolean {
    const raw: Message = { role: 'assistant', content: '<think>\nb\n</think>\n\nc' };
    const parts: Message = {
      role: 'assistant',
      content: [
        { type: 'thinking', thinking: 'b' },
        { type: 'text', text: 'c' },
      ],
    };
    const asSampled = this.render([QUESTION], true) + '<think>\nb\n</think>\n\nc';
    return (
      this.render([QUESTION, raw, QUESTION], true).startsWith(asSampled) &&
      this.render([QUESTION, parts, QUESTION], true).startsWith(this.replySpan([QUESTION, parts]).prefix)
    );
  }
}

function isChatTokenizer(tokenizer: Tokenizer): tokenizer is ChatTokenizer {
  return 'chatTemplate' in tokenizer && 'source' in tokenizer;
}
