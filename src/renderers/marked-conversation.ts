import type { ContentPart, Message, ToolCall } from '../core/conversation';
import { findBlocks, isRecord, parseJson, textAround, THINKING, withOpenedBlock } from './reply-blocks';
import { TOOL_DECLARATION_ROLE } from './template-text';
import { TOOL_KEYS } from './tool-keys';

/**
 * A conversation in which all that has to be written stands under values that occur nowhere else: numbers for numbers and
 * literals, words for the rest. What a template writes of it, it writes, whatever its own layout looks like.
 */
export interface MarkedConversation {
  readonly messages: readonly Message[];
  readonly marks: readonly Mark[];
}

export interface Mark {
  /** Of the message that says it. */
  readonly index: number;
  readonly value: string;
  /** For messages. */
  readonly what: string;
  /** Of the calls of a message, where this is the name of one: its id may stand in place of it. */
  readonly callNumber?: number;
}

/** Extent: all that is said, or only what no prompt may leave out. */
export function markConversation(
  messages: readonly Message[],
  extent: 'whole' | 'prompt',
): MarkedConversation {
  const marking = new Marking(extent);
  const marked = messages.map((message, index) =>
    marking.markMessage(message, { index, isLast: index === messages.length - 1 }),
  );
  return { messages: marked, marks: marking.marks };
}

interface Place {
  readonly index: number;
  readonly isLast: boolean;
}

class Marking {
  readonly marks: Mark[] = [];
  private index = 0;

  constructor(private readonly extent: 'whole' | 'prompt') {}

  markMessage(message: Message, { index, isLast }: Place): Message {
    this.index = index;
    const { role, content, name, toolCalls } = message;
    if (role === TOOL_DECLARATION_ROLE && typeof content === 'string') {
      return { ...message, content: this.declarations(content) };
    }
    return {
      ...message,
      content: this.content(message, isLast),
      ...(name !== undefined && role !== 'tool' && { name: this.speaker(name) }),
      ...(toolCalls && { toolCalls: toolCalls.map((call, number) => this.call(call, number)) }),
    };
  }

  private content({ role, content }: Message, isLast: boolean): Message['content'] {
    if (role === 'assistant' && this.extent === 'prompt') return content;
    const what = `the words of role "${role.slice(0, 80)}"`;
    if (typeof content === 'string')
      return role === 'assistant' ? this.aroundBlocks(content, what) : this.spoken(content, what);
    return content.map((part): ContentPart => {
      if (part.type === 'text') return { ...part, text: this.spoken(part.text, what) };
      if (role === 'assistant' && !isLast) return part;
      return { ...part, thinking: this.spoken(part.thinking, 'its reasoning') };
    });
  }

  /** Of a reply with reasoning blocks in its text, which stay for templates to find, the words before, between and after them. */
  private aroundBlocks(text: string, what: string): string {
    const opened = withOpenedBlock(text);
    const blocks = findBlocks(opened, [THINKING]);
    if (blocks.length === 0) return this.spoken(text, what);
    const [first = '', ...others] = textAround(opened, blocks).map((words) =>
      this.spacedWords(words, `${quoted(words.trim())} in ${what}`),
    );
    const after = blocks.map(({ start, end }, index) => opened.slice(start, end) + (others[index] ?? ''));
    return [first, ...after].join('').slice(opened.length - text.length);
  }

  /** Templates look for the lines of blocks. */
  private spacedWords(text: string, what: string): string {
    const trimmed = text.trim();
    return trimmed === '' ? text : text.replace(trimmed, () => this.spoken(trimmed, what));
  }

  /** Templates look for reasoning blocks within words, which are left to be looked for as they are. */
  private spoken(text: string, what: string): string {
    return text.includes('think>') ? text : this.text(text, what);
  }

  private speaker(name: string): string {
    return this.text(
      name,
      `the name "${name.slice(0, 80)}" (dataset.ignoreKeys: [name] leaves out those of a data set)`,
    );
  }

  private call(call: ToolCall, callNumber: number): ToolCall {
    const what = `the call of tool "${call.name}"`;
    const name = this.text(call.name, what, callNumber);
    const parsed = parseJson(call.arguments);
    if (this.extent === 'prompt' || !('value' in parsed)) return { ...call, name };
    return { ...call, name, arguments: JSON.stringify(this.json(parsed.value, ` in ${what}`)) };
  }

  private declarations(content: string): string {
    const parsed = parseJson(content);
    if (!('value' in parsed) || !Array.isArray(parsed.value)) return content;
    return JSON.stringify(
      parsed.value.map((tool: unknown) => {
        const inner = isRecord(tool) && isRecord(tool['function']) ? tool['function'] : tool;
        return isRecord(inner) ? this.declaration(inner) : tool;
      }),
    );
  }

  private declaration(tool: Readonly<Record<string, unknown>>): unknown {
    const tag = `tool "${String(tool['name'])}"`;
    const members = Object.entries(tool).map(([key, value]): [string, unknown] => {
      if (key === 'name' && typeof value === 'string') return [key, this.text(value, tag)];
      if (key === 'description' && typeof value === 'string')
        return [key, this.text(value, `the description of ${tag}`)];
      if (key === 'parameters' && isRecord(value)) return [key, this.schema(value, tag)];
      return [
        key,
        key === 'type' || TOOL_KEYS.includes(key) ? value : this.values(value, `"${key}" of ${tag}`),
      ];
    });
    return Object.fromEntries(members);
  }

  private schema(schema: Readonly<Record<string, unknown>>, tag: string): unknown {
    const { properties, required } = schema;
    if (!isRecord(properties)) return schema;
    const names = new Map(
      Object.keys(properties).map((name) => [name, this.text(name, `parameter "${name}" of ${tag}`)]),
    );
    const named = (name: string): string => names.get(name) ?? name;
    const needed: readonly unknown[] | null = Array.isArray(required) ? required : null;
    return {
      ...schema,
      properties: Object.fromEntries(Object.entries(properties).map(([name, value]) => [named(name), value])),
      ...(needed && { required: needed.map((name) => (typeof name === 'string' ? named(name) : name)) }),
    };
  }

  /** Every key and value of a call's arguments. */
  private json(value: unknown, where: string): unknown {
    if (Array.isArray(value)) return value.map((item) => this.json(item, where));
    if (!isRecord(value)) return this.scalar(value, where);
    return Object.fromEntries(
      Object.entries(value).map(([key, inner]) => [
        this.text(key, quoted(key) + where),
        this.json(inner, where),
      ]),
    );
  }

  /** The values alone, of keys that a template may know. */
  private values(value: unknown, what: string): unknown {
    if (Array.isArray(value)) return value.map((item) => this.values(item, what));
    if (!isRecord(value))
      return typeof value === 'string' ? this.text(value, what) : this.number(value, what);
    return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, this.values(inner, what)]));
  }

  private scalar(value: unknown, where: string): unknown {
    if (typeof value === 'string') return this.text(value, quoted(value) + where);
    return this.number(value, String(value) + where);
  }

  private number(value: unknown, what: string): unknown {
    if (value === null) return value;
    const number = FIRST_NUMBER + this.marks.length;
    this.marks.push({ index: this.index, value: String(number), what });
    return number;
  }

  /** What is empty is empty still, since templates ask for it. */
  private text(text: string, what: string, callNumber?: number): string {
    if (text.trim() === '') return text;
    const value = `piece${FIRST_NUMBER + this.marks.length}x`;
    this.marks.push({ index: this.index, value, what, ...(callNumber !== undefined && { callNumber }) });
    return value;
  }
}

/** All have as many digits, so that none stands within another. */
const FIRST_NUMBER = 731_604_000;

function quoted(text: string): string {
  return `"${text.slice(0, 40)}"`;
}
