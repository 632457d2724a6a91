const OPEN = '<think>';
const CLOSE = '</think>';

const TAGS = /<\s?(\/?)\s?think\s?>/gi;
const QUOTES: ReadonlySet<string> = new Set(['"', "'", '`']);

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

/**
 * What a completion says once it is done thinking: without any `<think>…</think>`, what stands before a closing tag that nothing
 * opened, and all behind an opening one that is never closed.
 */
export function withoutReasoning(text: string): string {
  let said = '';
  let isThinking = false;
  let start = 0;
  const tags = [...text.matchAll(TAGS)].filter(
    ({ 0: tag, index }) => !isSpokenOf(text, index, index + tag.length),
  );
  if (tags.length === 0) return text;
  for (const { 1: slash, 0: tag, index } of tags) {
    const isClosing = slash === '/';
    if (isThinking && !isClosing) continue;
    if (!isThinking) said = isClosing ? '' : said + text.slice(start, index);
    isThinking = !isClosing;
    start = index + tag.length;
  }
  return (isThinking ? said : said + text.slice(start)).trim();
}

/** In quotes or code of its own: "`</think>`". One behind the end of code is used. */
function isSpokenOf(text: string, start: number, end: number): boolean {
  const before = text[start - 1] ?? '';
  return QUOTES.has(before) && text[end] === before;
}
