import type { Message, RenderedExample, Termination, TrainOnWhat } from '../core/conversation';
import { DomainError } from '../core/errors';
import type { Tokenizer } from '../core/tokenizer';
import type { MessageFormat, MessagePlace } from './message-format';
import type { GenerationPromptOptions, ParsedReply, Renderer, ToolDeclaration } from './renderer';
import { firstTrainedReply, trainedMessages } from './training-weights';

/** A renderer for formats in which a conversation is its messages one after another. */
export function createMessageRenderer(format: MessageFormat, tokenizer: Tokenizer): Renderer {
  const missing = format.requiredTokens.filter((token) => singleToken(token, tokenizer) === null);
  if (missing.length > 0) {
    throw new DomainError(
      'bad-config',
      `Renderer "${format.name}" needs the special tokens ${missing.join(' ')}, which this tokenizer does not have. ` +
        'Choose the renderer recommended for the model, or chat_template.',
    );
  }
  return new MessageRenderer(format, tokenizer);
}

class MessageRenderer implements Renderer {
  readonly name: string;
  readonly hasExtensionProperty: boolean;

  constructor(
    private readonly format: MessageFormat,
    private readonly tokenizer: Tokenizer,
  ) {
    this.name = format.name;
    this.hasExtensionProperty = format.hasExtensionProperty;
  }

  buildGenerationPrompt(messages: readonly Message[], options: GenerationPromptOptions = {}): number[] {
    const history = messages.flatMap((message, index) => {
      const { header, content, end } = this.format.renderMessage(message, placeOf(messages, index));
      return [this.encodeLayout(header), this.encodeContent(content), this.encodeLayout(end)];
    });
    return [
      this.encodeLayout(this.format.bosText),
      ...history,
      this.encodeLayout(this.format.renderReplyHeader(messages.length)),
      this.encodeLayout(options.prefill ?? ''),
    ].flat();
  }

  buildSupervisedExample(messages: readonly Message[], trainOnWhat: TrainOnWhat): RenderedExample {
    const trained = trainedMessages(messages, trainOnWhat);
    const headerWeight = trainOnWhat === 'allTokens' ? 1 : 0;
    const chunks: { tokens: number[]; weight: number }[] = [];
    const append = (tokens: number[], weight: number) => chunks.push({ tokens, weight });

    append(this.encodeLayout(this.format.bosText), 0);
    messages.forEach((message, index) => {
      const place = placeOf(messages, index);
      const { header, content, end, stopOverlap } = this.format.renderMessage(message, place);
      const weight = trained[index] ? 1 : 0;
      append(this.encodeLayout(header), headerWeight);
      append(this.encodeContent(content), weight);
      append(this.encodeLayout(end), weight);
      if (place.isLast && stopOverlap) append(this.encodeLayout(stopOverlap), weight);
    });

    const tokens = chunks.flatMap((chunk) => chunk.tokens);
    const weights = chunks.flatMap((chunk) => chunk.tokens.map(() => chunk.weight));
    return { tokens, weights: this.withholdPrompt(messages, trainOnWhat, { tokens, weights }) };
  }

  parseCompletion(completion: readonly number[]): ParsedReply {
    const { text, termination } = this.readToStop(completion);
    const content = this.format.trimReply?.(text) ?? text;
    if (termination === 'malformed') return { message: { role: 'assistant', content }, termination };
    return { ...this.format.parseReply(content), termination };
  }

  declareTools(tools: readonly ToolDeclaration[], systemPrompt: string): Message[] {
    if (this.format.declareTools)
      return [{ role: 'system', content: this.format.declareTools(tools, systemPrompt) }];
    throw new DomainError(
      'bad-config',
      `Renderer "${this.name}" has no tools. Use a renderer that has them, such as qwen3.`,
    );
  }

  stopSequences(): readonly string[] | readonly number[] {
    if ('text' in this.format.stop) return [this.format.stop.text];
    return [requireToken(this.format.stop.token, this.tokenizer)];
  }

  /** Loss is withheld from all the generation prompt supplies, such as an empty reasoning block. */
  private withholdPrompt(
    messages: readonly Message[],
    trainOnWhat: TrainOnWhat,
    { tokens, weights }: RenderedExample,
  ): readonly number[] {
    const reply = firstTrainedReply(messages, trainOnWhat);
    if (reply === null) return weights;
    const prompt = this.buildGenerationPrompt(messages.slice(0, reply));
    const isPrefix = prompt.every((token, index) => tokens[index] === token);
    if (isPrefix) return weights.map((weight, index) => (index < prompt.length ? 0 : weight));
    if (!this.format.refusesReasoning) return weights;
    throw new DomainError(
      'bad-dataset',
      `messages[${reply}] reasons, but the prompt of renderer "${this.name}" ends with a closed reasoning block. ` +
        'Remove the reasoning from the message, or use the renderer that thinks.',
    );
  }

  private readToStop(completion: readonly number[]): { text: string; termination: Termination } {
    const { stop } = this.format;
    const endsWithEos = completion.length > 0 && completion.at(-1) === this.tokenizer.eosTokenId;
    if ('text' in stop) {
      const body = endsWithEos ? completion.slice(0, -1) : completion;
      const pieces = this.tokenizer.decode(body).split(stop.text);
      return { text: pieces[0] ?? '', termination: terminationOf(pieces.length - 1, endsWithEos) };
    }
    const stopToken = requireToken(stop.token, this.tokenizer);
    const stopCount = completion.filter((token) => token === stopToken).length;
    const ownEos = endsWithEos && this.tokenizer.eosTokenId !== stopToken;
    const bodyEnd = stopCount > 0 ? completion.indexOf(stopToken) : completion.length - (ownEos ? 1 : 0);
    return {
      text: this.tokenizer.decode(completion.slice(0, bodyEnd)),
      termination: terminationOf(stopCount, ownEos),
    };
  }

  private encodeLayout(text: string): number[] {
    return text === '' ? [] : this.tokenizer.encode(text, { allowSpecial: true });
  }

  private encodeContent(text: string): number[] {
    return text === '' ? [] : this.tokenizer.encode(text);
  }
}

/** A stop sequence and then end-of-text means that sampling did not stop where it should have. */
function terminationOf(stopCount: number, endsWithEos: boolean): Termination {
  if (stopCount === 0) return endsWithEos ? 'eos' : 'malformed';
  return stopCount === 1 && !endsWithEos ? 'stop_sequence' : 'malformed';
}

function placeOf(messages: readonly Message[], index: number): MessagePlace {
  return {
    index,
    isLast: index === messages.length - 1,
    hasUserMessage: messages.some((message) => message.role === 'user'),
  };
}

function singleToken(text: string, tokenizer: Tokenizer): number | null {
  const tokens = tokenizer.encode(text, { allowSpecial: true });
  return tokens.length === 1 ? (tokens[0] ?? null) : null;
}

function requireToken(text: string, tokenizer: Tokenizer): number {
  const token = singleToken(text, tokenizer);
  if (token !== null) return token;
  throw new DomainError(
    'bad-config',
    `"${text}" is not one token of this tokenizer. Choose another renderer.`,
  );
}
