import type { ToolDeclaration } from '../core/completion';
import { DomainError } from '../core/errors';
import { readTools } from '../datasets/tools';
import { messageOf } from './error-message';

/** Tools that an environment declares, in our form or in one of the field's, as rows of datasets may. Throws what form is needed. */
export function declaredTools(given: unknown): ToolDeclaration[] {
  try {
    return readTools(given, 'tools');
  } catch (error) {
    throw new DomainError(
      'bad-plugin',
      `initialObservation of the environment: ${messageOf(error)} A tool is { name, description, parameters } with a JSON schema as ` +
        "parameters, or { type: 'function', function: { … } } around that; of a tool of defineTool it is its `declaration`.",
      { cause: error },
    );
  }
}
