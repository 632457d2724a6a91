/** Characters that could move the cursor, change colours, hide or reorder text; all that no font shows are of the second kind, selectors of a variant aside. */
const CONTROLS =
  /[\u0000-\u001f\u007f-\u009f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff0-\ufffb\u{1bca0}-\u{1bca3}\u{1d173}-\u{1d17a}\u{e0000}-\u{e00ff}\u{e01f0}-\u{e0fff}]/gu;

/** Text of a model, a dataset or a name, made safe to print: control characters become visible escapes. */
export function escapeControls(text: string): string {
  return text.replaceAll(CONTROLS, (character) => {
    const code = character.codePointAt(0) ?? 0;
    if (code > 0xffff) return `\\u{${code.toString(16)}}`;
    return code < 256
      ? `\\x${code.toString(16).padStart(2, '0')}`
      : `\\u${code.toString(16).padStart(4, '0')}`;
  });
}

/** What JSON leaves as it is of them: another way to write the same text. Its own line breaks stay. */
export function escapeInJson(json: string): string {
  return json.replaceAll(CONTROLS, (character) =>
    character < ' '
      ? character
      : [...Array(character.length).keys()]
          .map((unit) => `\\u${character.charCodeAt(unit).toString(16).padStart(4, '0')}`)
          .join(''),
  );
}
