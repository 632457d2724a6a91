import type { ToolDeclaration } from '../core/completion';
import type { ToolCall } from '../core/conversation';
import { GLM_CALLS, MINIMAX_CALLS, parseBareReply } from './families/bare-tool-calls';
import { readDeepSeekReply } from './families/deepseek-v3';
import { parseHarmonyReply } from './families/harmony-reply';
import { readKimiReply } from './families/kimi-k2';
import type { CallForm } from './families/qwen3-blocks';
import { parseQwenReply, QWEN_CALLS, withReasoningOpening } from './families/qwen3-blocks';
import { memberText } from './json-text';
import type { UnparsedToolCall } from './renderer';
import type { ReadReply } from './reply-blocks';
import {
  isRecord,
  parseJson,
  readCall,
  replyOf,
  separateCalls,
  splitThinking,
  THINKING,
} from './reply-blocks';

/** How the models behind one chat template write reasoning and tool calls. */
export interface ReplyDialect {
  parseReply(text: string, tools?: readonly ToolDeclaration[]): ReadReply;
  /** Token that ends a reply which calls a tool; empty where it is the one that ends every reply. */
  readonly callStop: string;
}

interface DialectRule {
  /** What only templates of this dialect contain, in this order. */
  readonly marks: readonly string[];
  readonly parseReply: (text: string, tools?: readonly ToolDeclaration[]) => ReadReply;
  readonly callStop?: string;
  /** Where a mark of reasoning may stand within a call. */
  readonly calls?: CallForm;
}

const RULES: readonly DialectRule[] = [
  { marks: ['<|channel|>'], parseReply: parseHarmonyReply, callStop: '<|call|>' },
  { marks: ['<｜tool▁calls▁begin｜>'], parseReply: readDeepSeekReply },
  { marks: ['<|tool_calls_section_begin|>'], parseReply: readKimiReply },
  { marks: ['[TOOL_CALLS]'], parseReply: readMistralReply },
  {
    marks: ['<minimax:tool_call>'],
    parseReply: (text, tools) => parseBareReply(text, MINIMAX_CALLS, tools),
    calls: MINIMAX_CALLS,
  },
  {
    marks: ['<tool_call>', '<arg_key>'],
    parseReply: (text, tools) => parseBareReply(text, GLM_CALLS, tools),
    calls: GLM_CALLS,
  },
  {
    marks: ['<tool_call>'],
    calls: QWEN_CALLS,
    parseReply: (text, tools = []) => parseQwenReply(text, { framesReasoning: true, readsXml: true, tools }),
  },
  { marks: ['"parameters": '], parseReply: readLlamaReply },
];

/** Told by the template's text; a template that knows neither reasoning nor calls has plain replies. */
export function findDialect(template: string, prompt: string): ReplyDialect {
  const rule = RULES.find(({ marks }) => holdsInOrder(template, marks));
  const parse = rule?.parseReply ?? (template.includes('think>') ? readReasoning : plainReply);
  const opensThinking = prompt.trimEnd().endsWith('<think>');
  return {
    parseReply: (text, tools) => parse(opensThinking ? withOpening(text, rule?.calls) : text, tools),
    callStop: rule?.callStop ?? '',
  };
}

function plainReply(text: string): ReadReply {
  return { message: { role: 'assistant', content: text } };
}

function readReasoning(text: string): ReadReply {
  return parseQwenReply(text, { framesReasoning: true, readsXml: false });
}

/** A mark within the arguments of a call closes no reasoning. */
function withOpening(text: string, calls?: CallForm): string {
  if (calls) return withReasoningOpening(text, THINKING[0], calls);
  return text.includes('</think>') && !text.startsWith('<think>') ? `<think>${text}` : text;
}

/** `text[TOOL_CALLS][{"name": "f", "arguments": {}}]`, or `[TOOL_CALLS]f[ARGS]{}` in later models. */
function readMistralReply(text: string): ReadReply {
  const [words = '', ...sections] = text.split('[TOOL_CALLS]');
  const calls = sections.flatMap((section) => {
    const rawText = `[TOOL_CALLS]${section}`;
    const [name = '', ...rest] = section.split('[ARGS]');
    if (rest.length === 0) return readJsonCalls(section, rawText, 'arguments');
    return [readCall({ name: name.trim(), arguments: rest.join('[ARGS]').trim() }, rawText)];
  });
  return replyOf(splitThinking(words) ?? words, separateCalls(calls));
}

/** Llama 3: a reply that is nothing but `{"name": "f", "parameters": {}}` is a call. */
function readLlamaReply(text: string): ReadReply {
  const body = text.replace(/^<\|python_tag\|>/, '').trim();
  if (!body.startsWith('{"name"')) return plainReply(text);
  return replyOf([], separateCalls(readJsonCalls(body, text, 'parameters')));
}

function readJsonCalls(
  json: string,
  rawText: string,
  argumentsKey: 'arguments' | 'parameters',
): (ToolCall | UnparsedToolCall)[] {
  const parsed = parseJson(json.trim());
  if ('reason' in parsed) return [{ rawText, reason: parsed.reason }];
  const values: readonly unknown[] = Array.isArray(parsed.value) ? parsed.value : [parsed.value];
  return values.map((call) => {
    // Of several each stands for itself: all of them again for each would be the square of the reply.
    const own = values.length === 1 ? rawText : JSON.stringify(call);
    if (!isRecord(call) || typeof call['name'] !== 'string') {
      return { rawText: own, reason: 'Missing or invalid "name" field' };
    }
    const written =
      values.length === 1 && !Array.isArray(parsed.value) ? memberText(json, argumentsKey) : null;
    return readCall(
      { name: call['name'], arguments: written ?? JSON.stringify(call[argumentsKey] ?? null) },
      own,
    );
  });
}

function holdsInOrder(template: string, marks: readonly string[]): boolean {
  let from = 0;
  for (const mark of marks) {
    const at = template.indexOf(mark, from);
    if (at < 0) return false;
    from = at + mark.length;
  }
  return true;
}
