import { TextWriter } from './text-writer';

/** The text without comments and tags of HTML, as MarkupSafe strips them. One that does not end is none. */
export function withoutTags(text: string): string {
  const kept = new TextWriter();
  let position = 0;
  const endOfComment = finder(text, '-->');
  for (let start = text.indexOf('<'); start >= 0; start = text.indexOf('<', position)) {
    const end = (text.startsWith('<!--', start) ? endOfComment(start + 4) : null) ?? ends(text, '>', start);
    if (end === null) break;
    kept.add(text.slice(position, start));
    position = end;
  }
  kept.add(text.slice(position));
  return kept.text();
}

function ends(text: string, mark: string, from: number): number | null {
  const at = text.indexOf(mark, from);
  return at < 0 ? null : at + mark.length;
}

/** Once there is none any more, nobody looks for it again. */
function finder(text: string, mark: string): (from: number) => number | null {
  let isThere = true;
  return (from) => {
    const end = isThere ? ends(text, mark, from) : null;
    isThere = end !== null;
    return end;
  };
}
