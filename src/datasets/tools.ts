import type { ToolDeclaration } from '../core/completion';
import { parseJsonWithSource } from '../core/json-source';
import type { Fields } from './kind-of';
import { kindOf } from './kind-of';
import { isFields, requireJson, requireSingleKeys } from './json-fields';
import { readName, readObject, readText } from './messages';
import { RowProblem } from './row-problem';

/** Where OpenAI's, Anthropic's and the Model Context Protocol's declarations have the schema. */
const PARAMETER_KEYS = ['parameters', 'input_schema', 'inputSchema'];
/** Beside a nested function; `strict` tells a server how to sample. */
const NESTING_KEYS = ['type', 'strict'];
const KINDS = ['function', 'custom'];

/** Tools as OpenAI's fine-tuning files declare them, nested under `function` or not, or as Anthropic's and MCP's lists do; also as JSON text, as tables hold them. */
export function readTools(value: unknown, field: string): ToolDeclaration[] {
  if (value === undefined || value === null || value === '') return [];
  const list = typeof value === 'string' ? parsed(value, field) : value;
  if (!Array.isArray(list)) throw new RowProblem(`field "${field}": expected a list, got ${kindOf(list)}.`);
  return list.map((item: unknown, index) => readTool(item, `${field}[${index}]`));
}

function readTool(value: unknown, field: string): ToolDeclaration {
  const fields = readObject(value, field);
  const { function: nested, ...beside } = fields;
  if (nested === undefined || nested === null) return declarationIn(withoutKind(beside), field);
  const others = Object.keys(beside).filter((key) => !NESTING_KEYS.includes(key) && isGiven(beside[key]));
  if (others.length > 0) {
    throw new RowProblem(
      `field "${field}": ${others.join(', ')} beside "function" is not part of the tool. Move it into "function", or remove it.`,
    );
  }
  return declarationIn(readObject(nested, `${field}.function`), `${field}.function`);
}

/** What says that it is a function is no word of it. */
function withoutKind({ type, ...tool }: Fields): Fields {
  return typeof type === 'string' && KINDS.includes(type)
    ? tool
    : { ...tool, ...(isGiven(type) && { type }) };
}

function declarationIn(tool: Fields, field: string): ToolDeclaration {
  for (const [key, value] of Object.entries(tool)) requireJson(value, `${field}.${key}`);
  const parameters = readParameters(tool, field);
  const others = Object.entries(tool).filter(
    ([key, value]) => isGiven(value) && (!PARAMETER_KEYS.includes(key) || key === 'parameters'),
  );
  return {
    ...Object.fromEntries(others),
    name: readName(tool, field),
    ...(isGiven(tool['description']) && { description: readText(tool, 'description', field) }),
    ...(isFields(parameters) && { parameters }),
  };
}

/** Not a copy: an object remembers how it was written. */
function readParameters(tool: Fields, field: string): unknown {
  const [key, second] = PARAMETER_KEYS.filter((name) => isGiven(tool[name]));
  if (key === undefined) return undefined;
  if (second !== undefined) {
    throw new RowProblem(
      `fields "${field}.${key}" and "${field}.${second}" both declare parameters. Keep one of them.`,
    );
  }
  readObject(tool[key], `${field}.${key}`);
  return tool[key];
}

function isGiven(value: unknown): boolean {
  return value !== undefined && value !== null;
}

function parsed(text: string, field: string): unknown {
  let value: unknown;
  try {
    value = parseJsonWithSource(text);
  } catch {
    throw new RowProblem(`field "${field}": expected a list, got text that is not valid JSON.`);
  }
  requireSingleKeys(text, value, field);
  return value;
}
