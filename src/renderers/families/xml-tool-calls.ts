import type { ToolCall } from '../../core/conversation';
import type { ToolDeclaration } from '../../core/completion';
import { DomainError } from '../../core/errors';
import type { JsonMember } from '../json-text';
import { objectMembers, respaceJson } from '../json-text';
import type { UnparsedToolCall } from '../renderer';
import { isRecord, parseJson } from '../reply-blocks';
import { declaredTypes, declaredValue } from './declared-values';

/** `<function=name><parameter=key>value</parameter></function>`: how Qwen3.5 and later, and Nemotron 3, call tools. */
export type LiteralSpelling = 'python' | 'json';

const CALL = /^\s*<function=([^>\n]+)>(.*?)<\/function>\s*$/s;
/** A parameter ends where another one begins or nothing follows; a closing mark before other words is one of them. */
const PARAMETER = /\s*<parameter=([^>\n]+)>(.*?)<\/parameter>(?=\s*<parameter=|\s*$)/gsy;
const PYTHON_LITERALS = new Map([
  ['true', 'True'],
  ['false', 'False'],
  ['null', 'None'],
]);

/** The words both families tell the model after listing its tools. */
const XML_CALL_INSTRUCTIONS = [
  'If you choose to call a function ONLY reply in the following format with NO suffix:',
  '',
  '<tool_call>',
  '<function=example_function_name>',
  '<parameter=example_parameter_1>',
  'value_1',
  '</parameter>',
  '<parameter=example_parameter_2>',
  'This is the value for the second parameter',
  'that can span',
  'multiple lines',
  '</parameter>',
  '</function>',
  '</tool_call>',
  '',
  '<IMPORTANT>',
  'Reminder:',
  '- Function calls MUST follow the specified format: an inner <function=...></function> block must be nested within <tool_call></tool_call> XML tags',
  '- Required parameters MUST be specified',
  '- You may provide optional reasoning for your function call in natural language BEFORE the function call, but NOT after',
  '- If there is no function call available, answer the question like normal with your current knowledge and do not tell the user about function calls',
  '</IMPORTANT>',
].join('\n');

export function declareXmlTools(declarations: readonly string[]): string {
  return [
    '# Tools',
    '',
    'You have access to the following functions:',
    '',
    '<tools>',
    ...declarations,
    '</tools>',
    '',
    XML_CALL_INSTRUCTIONS,
  ].join('\n');
}

/** One call, from `<tool_call>` to `</tool_call>`. */
export function writeXmlCall(call: ToolCall, literals: LiteralSpelling): string {
  const parameters = argumentsOf(call).map(
    (member) => `<parameter=${member.name}>\n${valueText(member.text, literals)}\n</parameter>\n`,
  );
  return `<tool_call>\n<function=${call.name}>\n${parameters.join('')}</function>\n</tool_call>`;
}

/** Reads what stands between `<tool_call>` and `</tool_call>`; values are of the types that the tool declares. */
export function readXmlCall(
  text: string,
  rawText: string,
  tools: readonly ToolDeclaration[] = [],
): ToolCall | UnparsedToolCall {
  const [, name = '', body = ''] = CALL.exec(text) ?? [];
  if (name.trim() === '') return { rawText, reason: 'Malformed tool call: no <function=name> block' };
  const parameters = readParameters(body, PARAMETER);
  if (!parameters) return { rawText, reason: 'Unexpected text between the parameters of the tool call' };
  return callOfBareValues(
    name.trim(),
    parameters.map(([key, value]) => [key, bareValue(value)]),
    tools,
  );
}

/** A call whose values stand bare; they are of the types that its tool declares. */
export function callOfBareValues(
  name: string,
  parameters: readonly BareParameter[],
  tools: readonly ToolDeclaration[],
): ToolCall {
  const values = new Map(
    parameters.map(([key, value]) => [key, declaredValue(value, declaredTypes(tools, name, key))]),
  );
  const members = [...values].map(([key, value]) => `${JSON.stringify(key)}: ${value}`);
  return { name, arguments: `{${members.join(', ')}}` };
}

export type BareParameter = readonly [name: string, value: string];

/** Names and bare values by a sticky pattern of both; null where anything else stands between them. */
export function readParameters(body: string, pattern: RegExp): BareParameter[] | null {
  const found = [...body.matchAll(pattern)];
  const last = found.at(-1);
  const end = last ? last.index + last[0].length : 0;
  if (body.slice(end).trim() !== '') return null;
  return found.map(([, name = '', value = '']) => [name.trim(), value]);
}

function argumentsOf({ name, arguments: text }: ToolCall): JsonMember[] {
  if (text === '') return [];
  const parsed = parseJson(text);
  if ('value' in parsed && isRecord(parsed.value)) return objectMembers(text);
  throw new DomainError(
    'bad-dataset',
    `The call of tool "${name}" has arguments that are not a JSON object: ${text.slice(0, 80)}. Correct the message.`,
  );
}

function valueText(json: string, literals: LiteralSpelling): string {
  if (json.startsWith('"')) return String(JSON.parse(json));
  if (/^[{[]/.test(json)) return respaceJson(json);
  return literals === 'python' ? (PYTHON_LITERALS.get(json) ?? json) : json;
}

/** The format puts a line break on either side of a value; further ones, and indentation, belong to it. */
function bareValue(text: string): string {
  return text.replace(/^\n/, '').replace(/\n$/, '');
}
