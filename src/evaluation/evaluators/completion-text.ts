import type { Renderer } from '../../renderers/renderer';

/** What the model said, without stop sequences and without its reasoning. */
export function completionText(renderer: Renderer, tokens: readonly number[]): string {
  const { content } = renderer.parseCompletion(tokens).message;
  if (typeof content === 'string') return content;
  return content.map((part) => (part.type === 'text' ? part.text : '')).join('');
}
