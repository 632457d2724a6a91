import type { ContentPart } from '../../core/conversation';

const OPEN = '<think>';
const CLOSE = '</think>';

/** Plain text stays a text; a reply with reasoning has parts. */
export function contentFrom(thinking: string | null, text: string): string | readonly ContentPart[] {
  if (thinking === null || thinking === '') return text;
  return [{ type: 'thinking', thinking }, ...(text === '' ? [] : [{ type: 'text' as const, text }])];
}

export function withThinking(thinking: string | null, text: string): string {
  return thinking === null || thinking === '' ? text : `${OPEN}${thinking}${CLOSE}${text}`;
}

export function textOf(content: string | readonly ContentPart[]): string {
  if (typeof content === 'string') return content;
  return content.map((part) => (part.type === 'text' ? part.text : '')).join('');
}
