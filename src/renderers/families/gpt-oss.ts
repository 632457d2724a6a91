import type { ToolDeclaration } from '../../core/completion';
import type { Message, ToolCall } from '../../core/conversation';
import { DomainError } from '../../core/errors';
import { FIXED_DAY } from '../fixed-day';
import { respaceJson } from '../json-text';
import type { MessageFormat, MessagePlace, Piece, RenderedMessage } from '../message-format';
import { written } from '../message-format';
import { plainText, roleWord, textOf, thinkingOf } from '../message-text';
import { matchToolAnswers } from '../tool-answers';
import { requirePropertyNames } from '../tool-keys';
import { markOfAdded } from '../training-weights';
import { parseHarmonyReply } from './harmony-reply';
import { declareHarmonyTools } from './harmony-tools';

export type ReasoningEffort = 'low' | 'medium' | 'high';

/** The system message of the model's maker; what people call a system message is the developer's. */
const SYSTEM_ROLE = 'harmony_system';
/** A developer's message that is written already: the declared tools. */
const TOOLS_ROLE = 'harmony_tools';

/**
 * Harmony, the format of gpt-oss: a reply is one message per channel, of which `analysis` is reasoning, `commentary`
 * holds tool calls, and `final` the answer. Written as the model's chat template does. What that template leaves out (later
 * system messages, other roles, all calls of a reply but the first, words beside a call that a final answer follows) or raises
 * on (words and reasoning beside a call) is written as Harmony has it.
 */
export function gptOssFormat(effort: ReasoningEffort | null): MessageFormat {
  return {
    name: effort === null ? 'gpt_oss_no_sysprompt' : `gpt_oss_${effort}_reasoning`,
    bosText: '',
    hasExtensionProperty: false,
    stop: { tokens: ['<|return|>', '<|call|>'] },
    controlTokens: [
      '<|start|>',
      '<|channel|>',
      '<|message|>',
      '<|constrain|>',
      '<|end|>',
      '<|return|>',
      '<|call|>',
    ],
    prepareMessages: (messages) =>
      settleCalls(matchToolAnswers(effort === null ? messages : withSystem(messages, effort))),
    renderMessage,
    openReply: () => '<|start|>assistant',
    parseReply: parseHarmonyReply,
    declareTools,
  };
}

/** The day is fixed, because a prompt that names today gives other scores tomorrow. */
function withSystem(messages: readonly Message[], effort: ReasoningEffort): readonly Message[] {
  const content = [
    'You are ChatGPT, a large language model trained by OpenAI.',
    'Knowledge cutoff: 2024-06',
    `Current date: ${FIXED_DAY}`,
    '',
    `Reasoning: ${effort}`,
    '',
    '# Valid channels: analysis, commentary, final. Channel must be included for every message.',
  ].join('\n');
  const [first, ...rest] = messages;
  if (first?.role !== SYSTEM_ROLE) {
    return [{ role: SYSTEM_ROLE, content, ...markOfAdded(messages) }, ...messages];
  }
  return [{ ...first, content: `${content}\n${plainText(first, 'gpt_oss')}` }, ...rest];
}

/**
 * What a reply that calls tools says beside its calls is reasoning, as in the template: it is dropped once an answer of
 * another kind follows. Words are not dropped with it.
 */
function settleCalls(messages: readonly Message[]): readonly Message[] {
  const answer = messages.findLastIndex((message) => message.role === 'assistant' && !hasCalls(message));
  return messages.map((message, index) => {
    if (message.role !== 'assistant' || !hasCalls(message)) return message;
    const [thinking, text] = [thinkingOf(message), textOf(message)];
    if (index < answer) return { ...message, content: text };
    return thinking === '' && text !== ''
      ? { ...message, content: [{ type: 'thinking', thinking: text }] }
      : message;
  });
}

function hasCalls({ toolCalls = [] }: Message): boolean {
  return toolCalls.length > 0;
}

function renderMessage(message: Message, place: MessagePlace): RenderedMessage {
  switch (message.role) {
    case 'assistant':
      return { header: ['<|start|>assistant'], body: replyPieces(message, place) };
    case 'tool':
      return renderToolOutput(message, place);
    case 'system':
      return renderInstructions(message, place);
    case 'developer':
      return isFirst(place) ? renderInstructions(message, place) : renderPlain(message);
    default:
      return renderPlain(message);
  }
}

function renderInstructions(message: Message, place: MessagePlace): RenderedMessage {
  const text = plainText(message, 'gpt_oss');
  if (text === '' && isFirst(place)) return { header: [], body: [] };
  return {
    header: ['<|start|>developer'],
    body: ['<|message|># Instructions\n\n', written(text), '\n\n<|end|>'],
  };
}

function isFirst({ previous }: MessagePlace): boolean {
  return previous === null || previous.role === SYSTEM_ROLE;
}

const OWN_ROLES = new Map([
  [SYSTEM_ROLE, 'system'],
  [TOOLS_ROLE, 'developer'],
]);

function renderPlain(message: Message): RenderedMessage {
  return {
    header: [`<|start|>${OWN_ROLES.get(message.role) ?? roleWord(message)}`],
    body: ['<|message|>', written(plainText(message, 'gpt_oss')), '<|end|>'],
  };
}

function replyPieces(message: Message, place: MessagePlace): Piece[] {
  const [thinking, text, calls] = [thinkingOf(message), textOf(message), message.toolCalls ?? []];
  const isEnd = place.isLast && !place.isInPrompt;
  const analysis =
    thinking === '' || (calls.length === 0 && !isEnd) ? [] : channelPieces('analysis', thinking);
  if (calls.length > 0) {
    const preamble = text === '' ? [] : channelPieces('commentary', text);
    return [...analysis, ...preamble, ...calls.flatMap(callPieces)];
  }
  return [...analysis, '<|channel|>final<|message|>', written(text), isEnd ? '<|return|>' : '<|end|>'];
}

/** A message of the reply that another one follows. */
function channelPieces(channel: string, text: string): Piece[] {
  return [`<|channel|>${channel}<|message|>`, written(text), '<|end|><|start|>assistant'];
}

function callPieces(call: ToolCall, index: number): Piece[] {
  return [
    index > 0 ? '<|start|>assistant' : '',
    ' to=functions.',
    written(call.name),
    '<|channel|>commentary json<|message|>',
    written(respaceJson(call.arguments)),
    '<|call|>',
  ];
}

function renderToolOutput(message: Message, place: MessagePlace): RenderedMessage {
  if (message.name === undefined) {
    throw new DomainError(
      'bad-dataset',
      `messages[${place.index}] is a tool's output without the tool's name. Add name, or tool_call_id with the id of the call.`,
    );
  }
  return {
    header: ['<|start|>functions.', written(message.name.replace(/^functions\./, '')), ' to=assistant'],
    body: [
      '<|channel|>commentary<|message|>',
      written(JSON.stringify(plainText(message, 'gpt_oss'))),
      '<|end|>',
    ],
  };
}

function declareTools(tools: readonly ToolDeclaration[], systemPrompt: string): Message[] {
  if (tools.length === 0) return systemPrompt === '' ? [] : [{ role: 'system', content: systemPrompt }];
  requirePropertyNames(tools, 'gpt_oss');
  const instructions = systemPrompt === '' ? [] : [`# Instructions\n\n${systemPrompt}`];
  return [
    {
      role: SYSTEM_ROLE,
      content: "Calls to these tools must go to the commentary channel: 'functions'.",
    },
    { role: TOOLS_ROLE, content: [...instructions, declareHarmonyTools(tools)].join('\n\n') },
  ];
}
