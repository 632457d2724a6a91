/** Characters that could move the cursor, change colours, hide or reorder text. */
const CONTROLS = /[\u0000-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g;

/** Text of a model, a dataset or a name, made safe to print: control characters become visible escapes. */
export function escapeControls(text: string): string {
  return text.replaceAll(CONTROLS, (character) => {
    const code = character.charCodeAt(0);
    return code < 256
      ? `\\x${code.toString(16).padStart(2, '0')}`
      : `\\u${code.toString(16).padStart(4, '0')}`;
  });
}

/** What JSON leaves as it is of them: another way to write the same text. Its own line breaks stay. */
export function escapeInJson(json: string): string {
  return json.replaceAll(CONTROLS, (character) => {
    const code = character.charCodeAt(0);
    return code < 32 ? character : `\\u${code.toString(16).padStart(4, '0')}`;
  });
}
