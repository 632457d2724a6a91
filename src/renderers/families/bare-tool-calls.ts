import type { ToolDeclaration } from '../../core/completion';
import type { ToolCall } from '../../core/conversation';
import type { UnparsedToolCall } from '../renderer';
import type { Block, ReadReply } from '../reply-blocks';
import { findBlocks, partsAround, replyOf, separateCalls, THINKING, unfinishedCall } from '../reply-blocks';
import type { CallForm } from './qwen3-blocks';
import { unframe } from './qwen3-blocks';
import { callOfBareValues, readParameters } from './xml-tool-calls';

/** How a model writes calls whose values stand bare, as its template writes them. */
export interface BareCallForm extends CallForm {
  /** The calls between the marks. */
  readonly readCalls: (
    inner: string,
    rawText: string,
    tools: readonly ToolDeclaration[],
  ) => (ToolCall | UnparsedToolCall)[];
  /** What the template writes before a call; no part of the words. */
  readonly before: string;
}

const BETWEEN_PARAMETERS = 'Unexpected text between the parameters of the tool call';

const INVOCATION = /\s*<invoke name="([^"\n]+)">(.*?)<\/invoke>(?=\s*<invoke name=|\s*$)/gsy;
/** A parameter ends where another one begins or nothing follows; a closing mark before other words is one of them. */
const PARAMETER = /\s*<parameter name="([^"\n]+)">(.*?)<\/parameter>(?=\s*<parameter name=|\s*$)/gsy;

/** `<invoke name="f"><parameter name="key">value</parameter></invoke>`, several between the same marks. */
export const MINIMAX_CALLS: BareCallForm = {
  marks: ['<minimax:tool_call>', '</minimax:tool_call>'],
  isWhole: (inner) => /^\s*<invoke name=/.test(inner) && inner.trimEnd().endsWith('</invoke>'),
  readCalls: readInvocations,
  before: '\n',
};

function readInvocations(
  inner: string,
  rawText: string,
  tools: readonly ToolDeclaration[],
): (ToolCall | UnparsedToolCall)[] {
  const invocations = readParameters(inner, INVOCATION);
  if (invocations === null || invocations.length === 0)
    return [{ rawText, reason: 'Malformed tool call: no <invoke name="…"> block, or text beside it' }];
  return invocations.map(([name, body]) => {
    const parameters = readParameters(body, PARAMETER);
    const own = invocations.length === 1 ? rawText : `<invoke name="${name}">${body}</invoke>`;
    return parameters === null
      ? { rawText: own, reason: BETWEEN_PARAMETERS }
      : callOfBareValues(name, parameters, tools);
  });
}

const NAME = /^\s*([^<\s][^<\n]*)(.*)/s;
const ARGUMENT =
  /\s*<arg_key>((?:(?!<\/arg_key>)[^\n])*)<\/arg_key>\s*<arg_value>(.*?)<\/arg_value>(?=\s*<arg_key>|\s*$)/gsy;

/** `<tool_call>f<arg_key>key</arg_key><arg_value>value</arg_value></tool_call>` */
export const GLM_CALLS: BareCallForm = {
  marks: ['<tool_call>', '</tool_call>'],
  isWhole: (inner) => !inner.includes('<') || inner.trimEnd().endsWith('</arg_value>'),
  readCalls: (inner, rawText, tools) => [readGlmCall(inner, rawText, tools)],
  before: '',
};

function readGlmCall(
  inner: string,
  rawText: string,
  tools: readonly ToolDeclaration[],
): ToolCall | UnparsedToolCall {
  const [, name = '', body = ''] = NAME.exec(inner) ?? [];
  if (name === '') return { rawText, reason: 'Missing function name' };
  const parameters = readParameters(body, ARGUMENT);
  return parameters === null
    ? { rawText, reason: BETWEEN_PARAMETERS }
    : callOfBareValues(name.trim(), parameters, tools);
}

/** Splits a reply into reasoning, words and calls; a call that is only reasoned about is reasoning. */
export function parseBareReply(
  text: string,
  form: BareCallForm,
  tools: readonly ToolDeclaration[] = [],
): ReadReply {
  const [open] = form.marks;
  if (!text.includes(THINKING[0]) && !text.includes(open))
    return { message: { role: 'assistant', content: text } };
  const blocks = findBlocks(
    text,
    [THINKING, form.marks],
    (mark, inner) => mark === THINKING[0] || form.isWhole(inner),
  );
  const calls = blocks
    .filter((block) => block.open === open)
    .flatMap(({ inner, start, end }) => form.readCalls(inner, text.slice(start, end), tools));
  const parts = partsAround(
    text,
    blocks.map((block) => (block.open === open ? withBefore(text, block, form.before) : block)),
  );
  const words = parts.map((part) => (part.type === 'text' ? part.text : '')).join('');
  const spoken = unframe(parts).filter((part) => part.type !== 'text' || part.text !== '');
  return replyOf(spoken, separateCalls([...calls, ...unfinishedCall(words, [form.marks])]));
}

function withBefore(text: string, block: Block, before: string): Block {
  const start = block.start - before.length;
  return text.startsWith(before, start) ? { ...block, start } : block;
}
