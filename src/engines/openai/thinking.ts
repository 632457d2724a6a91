import type { ContentPart } from '../../core/conversation';

const OPEN = '<think>';
const CLOSE = '</think>';

export interface SplitThinking {
  readonly thinking: string | null;
  readonly text: string;
  /** The reasoning was begun and never ended. */
  readonly isOpen: boolean;
}

/**
 * Tells apart the reasoning that a server leaves in the text.
 *
 * The opening tag may be missing: some chat templates write it into the prompt, so that a reply begins inside.
 */
export function splitThinking(text: string): SplitThinking {
  const trimmed = text.trimStart();
  const isOpened = trimmed.startsWith(OPEN);
  const inside = isOpened ? trimmed.slice(OPEN.length) : text;
  const end = inside.indexOf(CLOSE);
  if (end >= 0) {
    return {
      thinking: inside.slice(0, end).trim(),
      text: inside.slice(end + CLOSE.length).trimStart(),
      isOpen: false,
    };
  }
  return isOpened
    ? { thinking: inside.trim(), text: '', isOpen: true }
    : { thinking: null, text, isOpen: false };
}

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
