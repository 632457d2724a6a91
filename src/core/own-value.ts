/** What a table says of a word from elsewhere: nothing of `constructor`, `toString` and what else any object has. */
export function ownValue<Value>(table: Readonly<Record<string, Value>>, word: string): Value | undefined {
  return Object.hasOwn(table, word) ? table[word] : undefined;
}
