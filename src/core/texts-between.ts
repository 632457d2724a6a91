/**
 * What stands between an opening and the next closing mark, each time. An expression such as `/<a>([^]*?)<\/a>/g` reads from each opening
 * without a closing to the end of the text.
 */
export function textsBetween(text: string, opening: string, closing: string): string[] {
  const found: string[] = [];
  for (let end = 0; ;) {
    const start = text.indexOf(opening, end);
    const close = start < 0 ? -1 : text.indexOf(closing, start + opening.length);
    if (close < 0) return found;
    found.push(text.slice(start + opening.length, close));
    end = close + closing.length;
  }
}
