const ANSWER_LINE = /answer:\s*([^\n]*)/gi;
const ARTICLES = /\b(?:a|an|the)\b/g;
const PUNCTUATION = /[!-/:-@[-`{-~]/g;

/** What stands behind the last "Answer:"; null without one. */
export function answerIn(text: string): string | null {
  const found = [...text.matchAll(ANSWER_LINE)].at(-1)?.[1]?.trim();
  return found === undefined || found === '' ? null : found;
}

/** Equal but for case, punctuation, articles and spaces (the normalisation of SQuAD and Search-R1). */
export function isSameAnswer(given: string, expected: readonly string[]): boolean {
  const wanted = comparedText(given);
  return expected.some((each) => comparedText(each) === wanted);
}

/** Whether one of these answers is one of those. */
export function haveOneInCommon(these: readonly string[], those: readonly string[]): boolean {
  const wanted = new Set(those.map(comparedText));
  return these.some((each) => wanted.has(comparedText(each)));
}

/** What of an answer is compared. */
export function comparedText(text: string): string {
  const bare = text.toLowerCase().replace(PUNCTUATION, '').replace(ARTICLES, ' ');
  return bare
    .split(/\s+/)
    .filter((word) => word !== '')
    .join(' ');
}
