const CONNECTIVE = /^\s(?:because|is|since|as|and|or|was|would|seems|but|then|for|with|in|by|due|not|if)\b/;

/** "3-D", "25 °C", "vitamin D" */
const PART_OF_NAME =
  /(?:\d-|°\s?|\\circ\}?\s?(?:\\(?:text|mathrm|rm)\s?\{?\s?)?|\b(?:degrees?|vitamin|hepatitis)\s)$/i;

/** "A cat sat", "I am", "I'm": the article and the pronoun; letters that are a part of a name or a unit. */
export function isWord(text: string, index: number): boolean {
  if (PART_OF_NAME.test(text.slice(Math.max(0, index - 24), index))) return true;
  const rest = text.slice(index + 1, index + 20);
  if (text[index] === 'I')
    return /^(?:\s[a-z]|['’](?:m|ve|ll|d)\b)/.test(rest) && !/^\s(?:is|was|because)\b/.test(rest);
  return text[index] === 'A' && /^\s[a-z]/.test(rest) && !CONNECTIVE.test(rest);
}

/** More letters than there are, each with marks around it. */
const LONGEST_LIST = 200;

/** "A B C D", "**B** **C**", a letter on each line: several letters, and no word that says which. */
export function areOnlyLetters(text: string, letters: ReadonlySet<string>): boolean {
  if (text.length > LONGEST_LIST) return false;
  const words = text.split(/[^\p{L}\p{N}]+/u).filter((word) => word !== '');
  return new Set(words).size > 1 && words.every((word) => letters.has(word));
}
