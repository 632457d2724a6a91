const BOX = '\\boxed';

export interface Box {
  /** What stands between the braces. */
  readonly content: string;
  /** Where the command begins in the text. */
  readonly start: number;
}

/**
 * Every `\boxed{…}` of a text in order, with nested braces. A box that is never closed is left out; `\boxed 7` counts
 * as a box around the next word. One pass, whatever the text.
 */
export function findBoxes(text: string): readonly Box[] {
  if (!text.includes(BOX)) return [];
  const closings = matchBraces(text);
  const boxes: Box[] = [];
  for (let start = text.indexOf(BOX); start >= 0; start = text.indexOf(BOX, start + BOX.length)) {
    const box = boxAt(text, start, closings);
    if (box) boxes.push(box);
  }
  return boxes;
}

function boxAt(text: string, start: number, closings: ReadonlyMap<number, number>): Box | null {
  const after = start + BOX.length;
  const open = text[after] === ' ' && text[after + 1] === '{' ? after + 1 : after;
  if (text[open] === '{') {
    const close = closings.get(open);
    return close === undefined ? null : { content: text.slice(open + 1, close), start };
  }
  const word = /^ {1,4}(\w{1,64})/.exec(text.slice(after, after + 80))?.[1];
  return word === undefined ? null : { content: word, start };
}

/** Closing brace of each opening one; `\{` and `\}` are text. */
function matchBraces(text: string): ReadonlyMap<number, number> {
  const closings = new Map<number, number>();
  const open: number[] = [];
  for (let index = 0; index < text.length; index++) {
    const character = text[index];
    if (character === '\\') index++;
    else if (character === '{') open.push(index);
    else if (character === '}') {
      const start = open.pop();
      if (start !== undefined) closings.set(start, index);
    }
  }
  return closings;
}
