import type { ToolCall } from './conversation';

/** A tool call as people read it. */
export function callText({ name, arguments: given }: Pick<ToolCall, 'name' | 'arguments'>): string {
  return `[calls ${name}(${given})]`;
}
