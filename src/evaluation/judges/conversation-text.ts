import type { ToolDeclaration } from '../../core/completion';
import type { Message } from '../../core/conversation';
import { jsonText } from '../../core/json-source';
import { matchToolAnswers } from '../../renderers/tool-answers';
import type { Example } from '../example';
import { answerText } from '../runner/message-text';

/**
 * What was asked, as a judge reads it: a lone question as it is, else each message under its role, with the tools it calls.
 * Tools that the model may call stand before it.
 */
export function conversationText({ messages, tools = [] }: Pick<Example, 'messages' | 'tools'>): string {
  const [only, ...others] = messages;
  if (only && others.length === 0 && tools.length === 0) return answerText(only);
  return [...declared(tools), ...matchToolAnswers(messages).map(underItsRole)].join('\n\n');
}

function declared(tools: readonly ToolDeclaration[]): string[] {
  return tools.length === 0 ? [] : [`Tools the assistant may call: ${jsonText(tools)}`];
}

/** A tool's answer says whose it is: several may follow one message. */
function underItsRole(message: Message): string {
  const { role, name } = message;
  const speaker = role === 'tool' && name !== undefined && name !== '' ? `${role} ${name}` : role;
  return `${speaker}: ${answerText(message)}`;
}
