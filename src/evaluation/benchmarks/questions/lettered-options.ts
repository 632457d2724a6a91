/** "(A) first", "(B) second", … a line each. */
export function letteredOptions(options: readonly string[]): string {
  return options.map((option, index) => `(${optionLetter(index)}) ${option}`).join('\n');
}

/** The letter of an option by its place. */
export function optionLetter(index: number): string {
  return String.fromCharCode(65 + index);
}
