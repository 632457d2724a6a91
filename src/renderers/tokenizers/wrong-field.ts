/** `problem` goes on with the sentence. */
export function wrongField(field: string, problem: string): Error {
  return new Error(`field "${field}" of its tokenizer.json ${problem}`);
}
