import type { ToolDeclaration } from '../core/completion';
import type { TrainOnWhat } from '../core/conversation';
import { TRAIN_ON_WHAT } from '../core/conversation';
import { DomainError } from '../core/errors';
import type { Tokenizer } from '../core/tokenizer';
import { kindOf } from '../datasets/kind-of';
import { readMessagesOfAnyRole, readObject } from '../datasets/messages';
import { RowProblem } from '../datasets/row-problem';
import { readTools } from '../datasets/tools';
import { renderWithTools } from '../renderers/conversation-with-tools';
import type { ParsedReply, Renderer } from '../renderers/renderer';

export interface RenderSite {
  readonly renderer: Renderer;
  readonly tokenizer: Tokenizer;
}

type Fields = Readonly<Record<string, unknown>>;
type Answer = Readonly<Record<string, unknown>>;

interface Kind {
  readonly keys: readonly string[];
  readonly answer: (fields: Fields, site: RenderSite) => Answer;
}

const KINDS = new Map<string, Kind>([
  ['supervised', { keys: ['messages', 'tools', 'trainOnWhat'], answer: supervised }],
  ['prompt', { keys: ['messages', 'tools', 'prefill'], answer: prompt }],
  ['stop', { keys: [], answer: (_, { renderer }) => ({ stop: renderer.stopSequences() }) }],
  ['parse', { keys: ['sampled', 'tools'], answer: parse }],
  ['encode', { keys: ['text'], answer: encode }],
]);

/** What a renderer makes of what a line asks. What it refuses is an answer too: `{"error"}`. */
export function renderLine(value: unknown, site: RenderSite): Answer {
  try {
    return answerTo(value, site);
  } catch (error) {
    if (error instanceof RowProblem || error instanceof DomainError) return { error: error.message };
    throw error;
  }
}

function answerTo(value: unknown, site: RenderSite): Answer {
  const fields = readObject(value, 'line');
  const name = textIn(fields, 'kind');
  const kind = KINDS.get(name);
  if (!kind) throw new RowProblem(`field "kind": expected ${[...KINDS.keys()].join(', ')}, got "${name}".`);
  const unknown = Object.keys(fields).filter((key) => key !== 'kind' && !kind.keys.includes(key));
  if (unknown.length > 0) {
    const known = ['kind', ...kind.keys].join(', ');
    throw new RowProblem(`"${name}" does not know ${unknown.join(', ')}. It has: ${known}.`);
  }
  return kind.answer(fields, site);
}

function supervised(fields: Fields, { renderer }: RenderSite): Answer {
  const mode = modeIn(fields);
  const { tokens, weights } = renderWithTools(renderer, conversationIn(fields), (conversation) =>
    renderer.buildSupervisedExample(conversation, mode),
  );
  return { tokens, weights };
}

function prompt(fields: Fields, { renderer }: RenderSite): Answer {
  const prefill = fields['prefill'] === undefined ? {} : { prefill: textIn(fields, 'prefill') };
  const tokens = renderWithTools(renderer, conversationIn(fields), (conversation) =>
    renderer.buildGenerationPrompt(conversation, prefill),
  );
  return { tokens };
}

function parse(fields: Fields, { renderer }: RenderSite): Answer {
  const { sampled } = fields;
  if (!Array.isArray(sampled) || !sampled.every(isToken)) {
    throw new RowProblem(`field "sampled": expected a list of tokens, whole numbers from 0.`);
  }
  return asJson(renderer.parseCompletion(sampled, toolsIn(fields)));
}

/** Special tokens spelled in the text are special. */
function encode(fields: Fields, { tokenizer }: RenderSite): Answer {
  return { tokens: tokenizer.encode(textIn(fields, 'text'), { allowSpecial: true }) };
}

function conversationIn(fields: Fields) {
  // Datasets read `developer` as what it means; a renderer alone is asked for what stands there.
  const messages = readMessagesOfAnyRole(fields['messages'], 'messages');
  if (messages.length === 0) throw new RowProblem('the conversation has no messages.');
  return { messages, tools: toolsIn(fields) };
}

function toolsIn(fields: Fields): readonly ToolDeclaration[] {
  return readTools(fields['tools'], 'tools');
}

/** In the spelling of configs, or in the field's (`last_assistant_message`). */
function modeIn({ trainOnWhat = 'allAssistantMessages' }: Fields): TrainOnWhat {
  const plain = (text: string) => text.replaceAll('_', '').toLowerCase();
  const mode = TRAIN_ON_WHAT.find(
    (known) => typeof trainOnWhat === 'string' && plain(known) === plain(trainOnWhat),
  );
  if (mode) return mode;
  throw new RowProblem(
    `field "trainOnWhat": expected ${TRAIN_ON_WHAT.join(', ')}, got ${JSON.stringify(trainOnWhat)}.`,
  );
}

function textIn(fields: Fields, name: string): string {
  const value = fields[name];
  if (typeof value === 'string') return value;
  throw new RowProblem(`field "${name}": expected text, got ${kindOf(value)}.`);
}

function isToken(value: unknown): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value >= 0;
}

/** In OpenAI's spelling, as messages are read. */
function asJson({ message, termination, unparsedToolCalls }: ParsedReply): Answer {
  const { role, content, toolCalls } = message;
  const calls = toolCalls?.map(({ id, name, arguments: text }) => ({
    type: 'function',
    id: id ?? null,
    function: { name, arguments: text },
  }));
  const unparsed = unparsedToolCalls?.map(({ rawText, reason }) => ({ raw_text: rawText, error: reason }));
  return {
    message: {
      ...{ role, content },
      ...(calls && { tool_calls: calls }),
      ...(unparsed && { unparsed_tool_calls: unparsed }),
    },
    termination,
  };
}
