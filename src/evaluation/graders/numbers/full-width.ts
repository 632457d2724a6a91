const DIGITS = /[\uff10-\uff19]/g;
/** Between digits only: elsewhere they are signs of a sentence. */
const SIGNS = /(?<=[\d\uff10-\uff19])[\uff0c\uff0e](?=[\d\uff10-\uff19])/g;
const OFFSET = 0xff10 - 0x30;

/** Digits of Chinese and Japanese keyboards ("１８") as plain ones; places in the text stay as they are. */
export function withPlainDigits(text: string): string {
  return text.replace(SIGNS, (sign) => plain(sign)).replace(DIGITS, (digit) => plain(digit));
}

function plain(character: string): string {
  return String.fromCharCode(character.charCodeAt(0) - OFFSET);
}
