import { splitWords, strip } from '../python-text';

/** Words of a text that are compared; a longer one is cut, so that no text takes minutes. Gold summaries have under 2,000. */
const WORD_LIMIT = 20_000;

/**
 * ROUGE-L (F) of the Python package `rouge` 1.0.1 over summaries: sentences end at periods, words count once each, and the
 * union of each reference sentence's longest common subsequences is taken. 0 where either text has no words.
 */
export function rougeL(prediction: string, reference: string): number {
  const evaluated = sentencesOf(prediction);
  const references = sentencesOf(reference);
  if (evaluated.length === 0 || references.length === 0) return 0;
  const wordCount = new Set(references.flat()).size;
  const evaluatedCount = new Set(evaluated.flat()).size;
  const common = new Set<string>();
  for (const sentence of references) {
    for (const candidate of evaluated)
      for (const word of commonSubsequence(sentence, candidate)) common.add(word);
  }
  // The package adds up what each reference sentence brings to the union, which is the union's size.
  const recall = common.size / wordCount;
  const precision = common.size / evaluatedCount;
  return 2 * ((precision * recall) / (precision + recall + 1e-8));
}

function sentencesOf(text: string): readonly (readonly string[])[] {
  let budget = WORD_LIMIT;
  const sentences: string[][] = [];
  for (const sentence of text.split('.')) {
    if (sentence === '' || budget <= 0) continue;
    const words = strip(sentence) === '' ? [''] : splitWords(sentence).slice(0, budget);
    budget -= words.length;
    sentences.push(words);
  }
  return sentences;
}

/** One longest common subsequence; where several are as long, the one the package finds. */
function commonSubsequence(left: readonly string[], right: readonly string[]): readonly string[] {
  const width = right.length + 1;
  const table = new Uint16Array((left.length + 1) * width);
  const at = (row: number, column: number) => table[row * width + column] ?? 0;
  for (let row = 1; row <= left.length; row++) {
    for (let column = 1; column <= right.length; column++) {
      const isSame = left[row - 1] === right[column - 1];
      table[row * width + column] = isSame
        ? at(row - 1, column - 1) + 1
        : Math.max(at(row - 1, column), at(row, column - 1));
    }
  }
  const words: string[] = [];
  let [row, column] = [left.length, right.length];
  while (row > 0 && column > 0) {
    if (left[row - 1] === right[column - 1]) {
      words.push(left[row - 1] ?? '');
      row--;
      column--;
    } else if (at(row - 1, column) > at(row, column - 1)) row--;
    else column--;
  }
  return words;
}
