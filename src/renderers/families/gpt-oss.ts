import type { ToolDeclaration } from '../../core/completion';
import type { Message, ToolCall } from '../../core/conversation';
import { DomainError } from '../../core/errors';
import { FIXED_DAY } from '../fixed-day';
import type { MessageFormat, MessagePlace, Piece, RenderedMessage } from '../message-format';
import { written } from '../message-format';
import { plainText, roleWord, textOf, thinkingOf } from '../message-text';
import { matchToolAnswers } from '../tool-answers';
import { markOfAdded } from '../training-weights';
import { parseHarmonyReply } from './harmony-reply';
import { declareHarmonyTools } from './harmony-tools';

export type ReasoningEffort = 'low' | 'medium' | 'high';

/** The system message of the model's maker; what people call a system message is the developer's. */
const SYSTEM_ROLE = 'harmony_system';

/**
 * Harmony, the format of gpt-oss: a reply is one message per channel, of which `analysis` is reasoning, `commentary`
 * holds tool calls and the words before them, and `final` the answer.
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
      matchToolAnswers(effort === null ? messages : withSystem(messages, effort)),
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
  return [{ role: SYSTEM_ROLE, content, ...markOfAdded(messages) }, ...messages];
}

function renderMessage(message: Message, place: MessagePlace): RenderedMessage {
  switch (message.role) {
    case 'assistant':
      return { header: ['<|start|>assistant'], body: replyPieces(message, place) };
    case 'tool':
      return renderToolOutput(message, place);
    case 'system':
      return {
        header: ['<|start|>developer'],
        body: ['<|message|># Instructions\n\n', written(plainText(message, 'gpt_oss')), '\n\n<|end|>'],
      };
    case 'user':
    default:
      return {
        header: [`<|start|>${message.role === SYSTEM_ROLE ? 'system' : roleWord(message)}`],
        body: ['<|message|>', written(plainText(message, 'gpt_oss')), '<|end|>'],
      };
  }
}

function replyPieces(message: Message, place: MessagePlace): Piece[] {
  const [thinking, text, calls] = [thinkingOf(message), textOf(message), message.toolCalls ?? []];
  const analysis = thinking === '' ? [] : channelPieces('analysis', thinking);
  if (calls.length > 0) {
    const preamble = text === '' ? [] : channelPieces('commentary', text);
    return [...analysis, ...preamble, ...calls.flatMap(callPieces)];
  }
  const end = place.isLast ? '<|return|>' : '<|end|>';
  return [...analysis, '<|channel|>final<|message|>', written(text), end];
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
    '<|channel|>commentary <|constrain|>json<|message|>',
    written(call.arguments),
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
    body: ['<|channel|>commentary<|message|>', written(plainText(message, 'gpt_oss')), '<|end|>'],
  };
}

function declareTools(tools: readonly ToolDeclaration[], systemPrompt: string): Message[] {
  const instructions = systemPrompt === '' ? [] : [`# Instructions\n\n${systemPrompt}`];
  if (tools.length === 0) {
    return instructions.map((content) => ({ role: 'developer', content }));
  }
  return [
    {
      role: SYSTEM_ROLE,
      content: "Calls to these tools must go to the commentary channel: 'functions'.",
    },
    { role: 'developer', content: [...instructions, declareHarmonyTools(tools)].join('\n\n') },
  ];
}
