import type { CompletionRequest } from '../../core/completion';
import type { Message } from '../../core/conversation';
import { DomainError } from '../../core/errors';
import { splitThinking } from '../../core/reasoning';
import type { JsonObject } from './answer-fields';
import { textAt } from './answer-fields';
import type { ChoiceCompletion, Dialect } from './dialect';
import { samplingFields } from './dialect';
import { contentFrom, textOf } from './thinking';

/** Makes one prompt of a conversation, up to where the model is to go on. */
export type RenderPrompt = (messages: readonly Message[]) => string;

const NEXT_TURN = '\n\nUser:';

/**
 * The text API of base models. Without `renderPrompt` conversations are written in the field's `role_colon` style, whose
 * next turn then ends a completion.
 */
export function completionsDialect(renderPrompt: RenderPrompt | undefined): Dialect {
  const render = renderPrompt ?? roleColonPrompt;
  const stop = renderPrompt ? [] : [NEXT_TURN];
  return {
    path: '/completions',
    body(request: CompletionRequest, model: string): JsonObject {
      if ((request.tools ?? []).length > 0) {
        throw new DomainError(
          'bad-config',
          'The completions API of an endpoint knows no tools. Use its chat API for what needs them.',
        );
      }
      return {
        model,
        prompt: render(request.messages),
        max_tokens: request.params.maxTokens,
        ...samplingFields(request, stop),
      };
    },
    faultOf: ({ text }) => (text === null || typeof text === 'string' ? null : 'text is no text'),
    read: readChoice,
  };
}

/** `User: 2+2?\n\nAssistant:` */
export function roleColonPrompt(messages: readonly Message[]): string {
  const turns = messages.map(
    ({ role, content }) =>
      `${role.charAt(0).toUpperCase()}${role.slice(1).toLowerCase()}: ${textOf(content)}\n\n`,
  );
  return `${turns.join('')}Assistant:`;
}

function readChoice(choice: JsonObject): ChoiceCompletion {
  const rawText = textAt(choice, 'text') ?? '';
  const { thinking, text } = splitThinking(rawText);
  const trimmed = text.replace(/^ /, '').replace(/\n\n$/, '');
  return { message: { role: 'assistant', content: contentFrom(thinking, trimmed) }, rawText };
}
