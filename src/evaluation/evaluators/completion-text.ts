import type { Renderer } from '../../renderers/renderer';
import { messageText } from '../runner/message-text';

/** What the model said, without stop sequences and without its reasoning. */
export function completionText(renderer: Renderer, tokens: readonly number[]): string {
  return messageText(renderer.parseCompletion(tokens).message);
}
