import type { ToolDeclaration } from '../core/completion';
import { DomainError } from '../core/errors';
import { isRecord } from './reply-blocks';

/** What every format writes, and `strict`, which tells a server how to sample and nothing to a model. */
export const TOOL_KEYS: readonly string[] = ['name', 'description', 'parameters', 'strict'];

/** The schema of a tool that declares none, for formats that always write one. */
export const NO_PARAMETERS: NonNullable<ToolDeclaration['parameters']> = { type: 'object', properties: {} };

/** Refuses what a declared function has beyond what formats write that know no other keys. */
export function requireKnownKeys(tools: readonly ToolDeclaration[], renderer: string): void {
  for (const tool of tools) {
    const others = Object.entries(tool).filter(
      ([key, value]) => !TOOL_KEYS.includes(key) && value !== undefined && value !== null,
    );
    if (others.length === 0) continue;
    throw new DomainError(
      'bad-dataset',
      `Tool "${tool.name}": renderer "${renderer}" does not write ${others.map(([key]) => `"${key}"`).join(', ')}. Remove it from the declaration, or use a renderer that writes it.`,
    );
  }
}

/** Of a schema of an object, beside the names of what it has. */
const OBJECT_KEYWORDS = new Set([
  ...['type', 'properties', 'required', 'additionalProperties', 'description', 'title', 'default'],
  ...['examples', 'nullable', 'strict', '$schema', '$id', '$defs', 'definitions'],
]);

/**
 * Refuses parameters whose names a format would not write, because it looks for them under `properties` alone: names that stand
 * by themselves (as in xLAM's files), in a list, or in another schema that is chosen or referred to.
 */
export function requirePropertyNames(
  tools: readonly ToolDeclaration[],
  renderer: string,
  more: readonly string[] = [],
): void {
  for (const { name, parameters } of tools) {
    const { properties } = parameters ?? {};
    if (parameters === undefined || isRecord(properties)) continue;
    const others = Object.keys(parameters).filter((key) => !OBJECT_KEYWORDS.has(key) && !more.includes(key));
    const isList = properties !== undefined && properties !== null;
    if (others.length === 0 && !isList) continue;
    const what = isList ? '"properties", which is no object' : others.map((key) => `"${key}"`).join(', ');
    throw new DomainError(
      'bad-dataset',
      `Tool "${name}": renderer "${renderer}" does not write ${what.slice(0, 200)} of its parameters. Declare them as {"type": "object", "properties": {NAME: {"type": …}}}, or use a renderer that writes the whole schema.`,
    );
  }
}
