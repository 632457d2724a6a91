/** A word of a command that is shown to be copied: in single quotes where a shell would read it otherwise. */
export function shellWord(word: string): string {
  return /^[\w@%+=:,./~-]+$/.test(word) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`;
}
