const LETTER_ALONE = /(?<![\p{L}\p{N}_])[A-J](?![\p{L}\p{N}_])/gu;

/**
 * MMLU-Pro's own three stages: "answer is (X)"; else "Answer: X"; else the last letter A–J that stands alone. Null where
 * all three find nothing, which the official script replaces by a random guess and we count as wrong.
 */
export function mmluProLetter(completion: string): string | null {
  return (
    /answer is \(?([A-J])\)?/.exec(completion)?.[1] ??
    behindColon(completion) ??
    [...completion.matchAll(LETTER_ALONE)].at(-1)?.[0] ??
    null
  );
}

/** `.*[aA]nswer:\s*([A-J])` in one pass: the last match that begins on the line of the first. */
function behindColon(completion: string): string | null {
  let letter: string | null = null;
  let lineEnd = Infinity;
  for (const match of completion.matchAll(/[aA]nswer:\s*([A-J])/g)) {
    if (match.index > lineEnd) break;
    letter = match[1] ?? null;
    if (lineEnd === Infinity) lineEnd = endOfLine(completion, match.index);
  }
  return letter;
}

function endOfLine(text: string, start: number): number {
  const newline = text.indexOf('\n', start);
  return newline < 0 ? text.length : newline;
}
