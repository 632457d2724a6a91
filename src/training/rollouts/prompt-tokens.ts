import type { ContentPart, Message } from '../../core/conversation';
import type { Renderer } from '../../renderers/renderer';

/** A turn that was sampled: what the model read and wrote, and the conversation with its message at the end. */
export interface SampledTurn {
  readonly tokens: readonly number[];
  readonly messages: readonly Message[];
  /** False where the reply has no end of its own: writing it into a conversation gives it one. */
  readonly isEnded: boolean;
}

/** More than any text has on average that is not made of nothing but spaces or one sign. */
const MOST_CHARACTERS_A_TOKEN = 32;

/** Whether a conversation is so long that it need not be turned into tokens, which takes seconds a million characters. */
export function isBeyondContext(messages: readonly Message[], contextLength: number): boolean {
  const characters = messages.reduce((sum, message) => sum + lengthOf(message), 0);
  return characters > MOST_CHARACTERS_A_TOKEN * contextLength;
}

function lengthOf({ content, toolCalls = [] }: Message): number {
  const texts = typeof content === 'string' ? [content] : content.map(textOf);
  return [...texts, ...toolCalls.map((call) => call.arguments)].reduce((sum, text) => sum + text.length, 0);
}

function textOf(part: ContentPart): string {
  return part.type === 'text' ? part.text : part.thinking;
}

/**
 * A conversation as it is kept: where no context could hold it the rest is left out, with a word of how much it was. No model
 * read it, and a row of it would keep its worker from everything else while it is written.
 */
export function keptMessages(messages: readonly Message[], contextLength: number): readonly Message[] {
  let room = MOST_CHARACTERS_A_TOKEN * contextLength;
  const last = messages.findIndex((message) => (room -= lengthOf(message)) < 0);
  const cut = messages[last];
  if (!cut) return messages;
  const left = messages.length - last - 1;
  return [...messages.slice(0, last), cutOff(cut, room + lengthOf(cut), left)];
}

function cutOff({ toolCalls, ...message }: Message, room: number, messagesLeft: number): Message {
  const text = typeof message.content === 'string' ? message.content : message.content.map(textOf).join('');
  const others = messagesLeft > 0 ? ` There were ${messagesLeft} messages more.` : '';
  const content = `${shortened(text, room)}${others}`;
  if (!toolCalls) return { ...message, content };
  const roomEach = Math.max(0, Math.floor((room - text.length) / toolCalls.length));
  const calls = toolCalls.map((call) => ({ ...call, arguments: shortened(call.arguments, roomEach) }));
  return { ...message, content, toolCalls: calls };
}

function shortened(text: string, room: number): string {
  if (text.length <= room) return text;
  return `${text.slice(0, room)}… and ${text.length - room} characters more, which are not kept.`;
}

/**
 * Tokens of the next prompt of a conversation.
 *
 * What a model wrote, written anew, may come out otherwise: spelled in other tokens, a tool call respaced, one that could
 * not be read left out. The model would then read what it never said, and a rollout would fall into a sequence a turn.
 * So where the format keeps history, the sampled tokens stay, and only what follows them is written.
 */
export function nextPromptTokens(
  renderer: Renderer,
  messages: readonly Message[],
  last: SampledTurn | null,
): readonly number[] {
  const rendered = renderer.buildGenerationPrompt(messages);
  if (last === null || startsWith(rendered, last.tokens) || !last.isEnded) return rendered;
  const written = writtenTokens(renderer, last.messages);
  const keepsHistory = startsWith(rendered, written) && written.at(-1) === last.tokens.at(-1);
  return keepsHistory ? [...last.tokens, ...rendered.slice(written.length)] : rendered;
}

/** The conversation up to the model's reply as the format writes it; nothing where it cannot. */
function writtenTokens(renderer: Renderer, messages: readonly Message[]): readonly number[] {
  try {
    return renderer.buildSupervisedExample(messages, 'lastAssistantMessage').tokens;
  } catch {
    return [];
  }
}

function startsWith(tokens: readonly number[], start: readonly number[]): boolean {
  return start.length <= tokens.length && start.every((token, index) => token === tokens[index]);
}
