import type { ToolDeclaration } from '../core/completion';
import type { Message, RenderedExample, Termination, TrainOnWhat } from '../core/conversation';
import { DomainError } from '../core/errors';
import { largestOf } from '../core/extremes';
import type { Tokenizer } from '../core/tokenizer';
import type { MessageFormat, MessagePlace, Piece, RenderedMessage } from './message-format';
import { numberedAsGiven } from './message-numbers';
import { PieceEncoder } from './piece-encoder';
import { readReply } from './read-reply';
import type { GenerationPromptOptions, ParsedReply, Renderer } from './renderer';
import { requireOwnMessages } from './own-messages';
import { requireKnownKeys } from './tool-keys';
import { orderToolAnswers } from './tool-answers';
import { checkMessages, firstTrainedReply, lastUserIndex, trainedMessages } from './training-weights';
import type { Stretch } from './taken-text';
import { requireMessage, splitReply } from './written-words';

/** Control tokens that a reply may spell out itself. */
const WORD_TOKENS = ['<think>', '</think>'];

/** A renderer for formats in which a conversation is its messages one after another. */
export function createMessageRenderer(format: MessageFormat, tokenizer: Tokenizer): Renderer {
  const missing = format.controlTokens.filter((token) => singleToken(token, tokenizer) === null);
  if (missing.length > 0) {
    throw new DomainError(
      'bad-config',
      `Renderer "${format.name}" needs the special tokens ${missing.join(' ')}, which this tokenizer does not have. ` +
        'Choose the renderer recommended for the model, or chat_template.',
    );
  }
  return new MessageRenderer(format, tokenizer);
}

interface Chunk {
  readonly tokens: readonly number[];
  readonly weight: number;
}

type Extent = 'whole' | 'prompt';

type PlacedMessage = MessagePlace & { readonly message: Message };

class MessageRenderer implements Renderer {
  readonly name: string;
  readonly hasExtensionProperty: boolean;
  readonly writesCallIds: boolean;
  private readonly encoder: PieceEncoder;
  /** Null where a text ends replies. */
  private readonly stopTokens: readonly number[] | null;

  constructor(
    private readonly format: MessageFormat,
    private readonly tokenizer: Tokenizer,
  ) {
    this.name = format.name;
    this.hasExtensionProperty = format.hasExtensionProperty;
    this.writesCallIds = format.writesCallIds === true;
    this.encoder = new PieceEncoder(tokenizer, format.controlTokens, WORD_TOKENS);
    this.stopTokens =
      'text' in format.stop ? null : format.stop.tokens.map((token) => requireToken(token, tokenizer));
  }

  buildGenerationPrompt(messages: readonly Message[], options: GenerationPromptOptions = {}): number[] {
    const prepared = this.prepared(messages);
    const prompt = this.promptOf(prepared, messages.length - prepared.length);
    return [...prompt, ...this.encodeLayout(options.prefill ?? '')];
  }

  buildSupervisedExample(messages: readonly Message[], trainOnWhat: TrainOnWhat): RenderedExample {
    checkMessages(messages, trainOnWhat);
    const prepared = this.prepared(messages);
    const turnStart = this.turnStartOf(prepared.slice(0, -1));
    const trained = trainedMessages(prepared, trainOnWhat, turnStart);
    const places = placesOf(prepared, turnStart, 'whole');
    const headerWeight = trainOnWhat === 'allTokens' ? 1 : 0;

    const chunks: Chunk[] = [{ tokens: this.encodeLayout(this.format.bosText), weight: 0 }];
    places.forEach((place) => {
      const rendered = this.renderMessage(place, messages.length - prepared.length);
      const { stopOverlap } = rendered;
      const weight = trained[place.index] ? 1 : 0;
      const index = place.index + messages.length - prepared.length;
      this.requireWritten(rendered, { ...place, index, isTrained: weight === 1 }, 'whole');
      if (weight === 1) this.refuseReasoning(rendered, place, messages.length - prepared.length);
      const written = this.encodeMessage(rendered, place.message);
      chunks.push({ tokens: written.header, weight: headerWeight }, { tokens: written.body, weight });
      if (place.isLast && stopOverlap) chunks.push({ tokens: this.encodeLayout(stopOverlap), weight });
    });

    const tokens = chunks.flatMap((chunk) => chunk.tokens);
    const weights = chunks.flatMap((chunk) => chunk.tokens.map(() => chunk.weight));
    const reply = firstTrainedReply(prepared, trainOnWhat);
    if (reply === null) return { tokens, weights };
    const prompt = this.promptOf(prepared.slice(0, reply), messages.length - prepared.length);
    const own = this.withhold(prompt, { tokens, weights });
    if (own) return { tokens, weights: own };
    throw this.reasoningRefusal(reply + messages.length - prepared.length);
  }

  parseCompletion(completion: readonly number[], tools: readonly ToolDeclaration[] = []): ParsedReply {
    const { text, termination } = this.readToStop(completion);
    const content = this.format.trimReply?.(text) ?? text;
    return readReply(content, termination, () => this.format.parseReply(content, tools));
  }

  declareTools(tools: readonly ToolDeclaration[], systemPrompt: string): Message[] {
    if (this.format.declareTools) {
      if (!this.format.writesWholeTools) requireKnownKeys(tools, this.name);
      return this.format.declareTools(tools, systemPrompt);
    }
    throw new DomainError(
      'bad-config',
      `Renderer "${this.name}" has no tools. Use a model whose prompt format has them (qwen3, or chat_template where the template declares tools), or an environment without tools.`,
    );
  }

  stopSequences(): readonly string[] | readonly number[] {
    return 'text' in this.format.stop ? [this.format.stop.text] : (this.stopTokens ?? []);
  }

  private prepared(messages: readonly Message[]): readonly Message[] {
    requireOwnMessages(messages, this.format);
    const ordered = this.format.writesCallIds ? messages : orderToolAnswers(messages);
    return this.format.prepareMessages?.(ordered) ?? ordered;
  }

  private turnStartOf(messages: readonly Message[]): number {
    return this.format.turnStart?.(messages) ?? lastUserIndex(messages) + 1;
  }

  private renderMessage(place: PlacedMessage, shift: number): RenderedMessage {
    return numberedAsGiven({ before: -shift }, () => this.format.renderMessage(place.message, place));
  }

  /** Of messages that are prepared already; `shift` makes their numbers those that were given. */
  private promptOf(messages: readonly Message[], shift: number): number[] {
    const history = placesOf(messages, this.turnStartOf(messages), 'prompt').flatMap((place) => {
      const rendered = this.renderMessage(place, shift);
      this.requireWritten(rendered, { ...place, index: place.index + shift, isTrained: false }, 'prompt');
      const { header, body } = this.encodeMessage(rendered, place.message);
      return [header, body];
    });
    return [
      this.encodeLayout(this.format.bosText),
      ...history,
      this.encoder.encode([this.format.openReply(messages)]),
    ].flat();
  }

  /**
   * What a person says is encoded with its header, as a template's text is; a reply begins with a token of its own, because
   * its header is the end of a prompt. A token of both belongs to the words.
   */
  private encodeMessage(
    { header, body }: RenderedMessage,
    { role }: Message,
  ): { header: readonly number[]; body: readonly number[] } {
    const alone = this.encoder.encode(header);
    const isSampled = role === 'assistant' || this.format.controlTokens.length === 0;
    if (isSampled) return { header: alone, body: this.encoder.encode(body) };
    const whole = this.encoder.encode([...header, ...body]);
    const differs = alone.findIndex((token, index) => whole[index] !== token);
    const end = differs < 0 ? alone.length : differs;
    return { header: whole.slice(0, end), body: whole.slice(end) };
  }

  /** Reasoning is not trained where prompts rule it out; what history drops is not written. */
  private refuseReasoning({ header, body }: RenderedMessage, place: PlacedMessage, shift: number): void {
    if (!this.format.refusesReasoning || place.message.role !== 'assistant') return;
    const text = textOfPieces([...header, ...body]);
    const isWritten = splitReply(place.message).some(
      (part) =>
        part.type === 'thinking' && part.thinking.trim() !== '' && text.includes(part.thinking.trim()),
    );
    if (isWritten) throw this.reasoningRefusal(place.index + shift);
  }

  private requireWritten(
    { header, body }: RenderedMessage,
    { message, index, isLast, isTrained }: PlacedMessage & { readonly isTrained: boolean },
    extent: Extent,
  ): void {
    const pieces = [...header, ...body];
    const [text, layout] = [textOfPieces(pieces), layoutOf(pieces)];
    requireMessage(message, { renderer: this.name, text, from: 0, layout, index, isLast, isTrained }, extent);
  }

  /** Loss is withheld from all the generation prompt supplies, such as an empty reasoning block; null is a refusal. */
  private withhold(
    prompt: readonly number[],
    { tokens, weights }: RenderedExample,
  ): readonly number[] | null {
    const isPrefix = prompt.every((token, index) => tokens[index] === token);
    if (isPrefix) return weights.map((weight, index) => (index < prompt.length ? 0 : weight));
    return this.format.refusesReasoning ? null : weights;
  }

  private reasoningRefusal(index: number): DomainError {
    return new DomainError(
      'bad-dataset',
      `messages[${index}] reasons, but the prompt of renderer "${this.name}" ends with a closed reasoning block. ` +
        'Remove the reasoning from the message, or use the renderer that thinks.',
    );
  }

  private readToStop(completion: readonly number[]): { text: string; termination: Termination } {
    const { stopTokens } = this;
    const endsWithEos = completion.length > 0 && completion.at(-1) === this.tokenizer.eosTokenId;
    if (stopTokens === null) return this.readToStopText(completion, endsWithEos);
    const isStop = (token: number) => stopTokens.includes(token);
    // One end after another is a reply and its end; the same one twice is not.
    const stopCount = largestOf(
      stopTokens.map((stop) => completion.filter((token) => token === stop).length),
    );
    const ownEos = endsWithEos && !isStop(completion.at(-1) ?? -1);
    const bodyEnd = stopCount > 0 ? completion.findIndex(isStop) : completion.length - (ownEos ? 1 : 0);
    return {
      text: this.tokenizer.decode(completion.slice(0, bodyEnd)),
      termination: terminationOf(stopCount, ownEos),
    };
  }

  private readToStopText(
    completion: readonly number[],
    endsWithEos: boolean,
  ): { text: string; termination: Termination } {
    const stopText = 'text' in this.format.stop ? this.format.stop.text : '';
    const pieces = this.tokenizer.decode(endsWithEos ? completion.slice(0, -1) : completion).split(stopText);
    return { text: pieces[0] ?? '', termination: terminationOf(pieces.length - 1, endsWithEos) };
  }

  private encodeLayout(text: string): number[] {
    return text === '' ? [] : this.tokenizer.encode(text, { allowSpecial: true });
  }
}

function textOfPieces(pieces: readonly Piece[]): string {
  return pieces.map((piece) => (typeof piece === 'string' ? piece : piece.written)).join('');
}

/** Stretches of the text of pieces that nobody wrote. */
function layoutOf(pieces: readonly Piece[]): Stretch[] {
  const layout: Stretch[] = [];
  let end = 0;
  for (const piece of pieces) {
    const start = end;
    end += textOfPieces([piece]).length;
    if (typeof piece !== 'string') continue;
    const before = layout.at(-1);
    if (before?.end === start) layout.pop();
    layout.push({ start: before?.end === start ? before.start : start, end });
  }
  return layout;
}

/** A stop sequence and then end-of-text means that sampling did not stop where it should have. */
function terminationOf(stopCount: number, endsWithEos: boolean): Termination {
  if (stopCount === 0) return endsWithEos ? 'eos' : 'malformed';
  return stopCount === 1 && !endsWithEos ? 'stop_sequence' : 'malformed';
}

function placesOf(messages: readonly Message[], turnStart: number, extent: Extent): PlacedMessage[] {
  const lastUser = lastUserIndex(messages);
  return messages.map((message, index) => ({
    message,
    index,
    isLast: index === messages.length - 1,
    isInPrompt: extent === 'prompt',
    previous: messages[index - 1] ?? null,
    next: messages[index + 1] ?? null,
    lastUserIndex: lastUser,
    isInLastTurn: index >= turnStart,
  }));
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
