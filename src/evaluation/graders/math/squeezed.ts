/** Without the spaces that say nothing: between digits they separate, so "1 2" is not "12". */
export function squeezed(text: string): string {
  return text.replace(/\s+/g, (spaces, at: number) =>
    isDigit(text[at - 1]) && isDigit(text[at + spaces.length]) ? ' ' : '',
  );
}

function isDigit(character: string | undefined): boolean {
  return character !== undefined && /[\d.]/.test(character);
}
