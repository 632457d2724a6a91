import type { ToolDeclaration } from '../core/completion';
import { parseJsonWithSource } from '../core/json-source';
import type { Fields } from './kind-of';
import { kindOf } from './kind-of';
import { readName, readObject, readText } from './messages';
import { RowProblem } from './row-problem';

/** Tools as OpenAI's fine-tuning files declare them, nested under `function` or not; also as JSON text, as tables hold them. */
export function readTools(value: unknown, field: string): ToolDeclaration[] {
  if (value === undefined || value === null || value === '') return [];
  const list = typeof value === 'string' ? parsed(value, field) : value;
  if (!Array.isArray(list)) throw new RowProblem(`field "${field}": expected a list, got ${kindOf(list)}.`);
  return list.map((item: unknown, index) => readTool(item, `${field}[${index}]`));
}

function readTool(value: unknown, field: string): ToolDeclaration {
  const fields = readObject(value, field);
  const nested = fields['function'];
  const isNested = nested !== undefined && nested !== null;
  const at = isNested ? `${field}.function` : field;
  return declarationIn(isNested ? readObject(nested, at) : fields, at);
}

function declarationIn(tool: Fields, field: string): ToolDeclaration {
  const { description, parameters } = tool;
  const isUndescribed = description === undefined || description === null;
  const hasParameters = parameters !== undefined && parameters !== null;
  // Not a copy: an object remembers how it was written.
  if (hasParameters) readObject(parameters, `${field}.parameters`);
  return {
    ...tool,
    name: readName(tool, field),
    description: isUndescribed ? '' : readText(tool, 'description', field),
    parameters: isFields(parameters) ? parameters : { type: 'object', properties: {} },
  };
}

function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null;
}

function parsed(text: string, field: string): unknown {
  try {
    return parseJsonWithSource(text);
  } catch {
    throw new RowProblem(`field "${field}": expected a list, got text that is not valid JSON.`);
  }
}
