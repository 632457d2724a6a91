import type { ToolDeclaration } from '../core/completion';
import { DomainError } from '../core/errors';

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
