import { endOfJsonString } from '../../../core/json-parts';

/** Python writes numbers that JSON has no words for. */
const FOREIGN = ['NaN', '-Infinity', 'Infinity'];
const QUOTE = 0x22;

/** Parses JSON as Python writes it: NaN and infinities, which stand outside of texts, become null. */
export function parseTolerantJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    const plain = withoutForeignNumbers(text);
    if (plain === text) throw error;
    return JSON.parse(plain);
  }
}

function withoutForeignNumbers(text: string): string {
  const parts: string[] = [];
  let kept = 0;
  for (let index = 0; index < text.length; index++) {
    if (text.charCodeAt(index) === QUOTE) {
      index = endOfJsonString(text, index);
      continue;
    }
    const word = FOREIGN.find((each) => text.startsWith(each, index));
    if (word === undefined) continue;
    parts.push(text.slice(kept, index), 'null');
    index += word.length - 1;
    kept = index + 1;
  }
  return parts.length === 0 ? text : parts.join('') + text.slice(kept);
}
