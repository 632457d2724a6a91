interface Block {
  readonly from: number;
  readonly to: number;
  readonly normalize: (character: string) => string;
}

const always = (character: string) => () => character;

/** Unicode blocks whose characters are counted together or not at all, in order. */
const BLOCKS: readonly Block[] = [
  { from: 0x00, to: 0x7f, normalize: (character) => (/[A-Za-z]/.test(character) ? character : ' ') },
  { from: 0x80, to: 0xff, normalize: (character) => ('\u00a0«°»'.includes(character) ? ' ' : character) },
  { from: 0x180, to: 0x24f, normalize: romanianWithCedilla },
  { from: 0x600, to: 0x6ff, normalize: (character) => (character === '\u06cc' ? '\u064a' : character) },
  { from: 0x1e00, to: 0x1eff, normalize: (character) => (character >= '\u1ea0' ? '\u1ec3' : character) },
  { from: 0x2000, to: 0x206f, normalize: always(' ') },
  { from: 0x3040, to: 0x309f, normalize: always('\u3042') },
  { from: 0x30a0, to: 0x30ff, normalize: always('\u30a2') },
  { from: 0x3100, to: 0x312f, normalize: always('\u3105') },
  { from: 0x31a0, to: 0x31bf, normalize: always('\u3105') },
  { from: 0xac00, to: 0xd7af, normalize: always('\uac00') },
];

/** The character as the profiles count it; a space for what is no letter. */
export function normalizeCharacter(character: string, kanji: ReadonlyMap<string, string>): string {
  const code = character.codePointAt(0) ?? 0;
  if (code >= 0x4e00 && code <= 0x9fff) return kanji.get(character) ?? character;
  const block = BLOCKS.find(({ from, to }) => code >= from && code <= to);
  return block ? block.normalize(character) : character;
}

function romanianWithCedilla(character: string): string {
  if (character === '\u0219') return '\u015f';
  return character === '\u021b' ? '\u0163' : character;
}

/** A Latin letter followed by a Vietnamese tone mark of its own becomes one character. */
export function composeVietnamese(text: string): string {
  return text.replace(/[AEIOUYaeiouyÂÊÔâêôĂăƠơƯư][\u0300\u0301\u0303\u0309\u0323]/g, (pair) =>
    pair.normalize('NFC'),
  );
}

/** Latin letters are taken out of a text that is mostly written in another script. */
export function withoutForeignLatin(characters: readonly string[]): readonly string[] {
  let latinCount = 0;
  let otherCount = 0;
  for (const character of characters) {
    if (character >= 'A' && character <= 'z') latinCount++;
    else if (isOtherScript(character)) otherCount++;
  }
  if (latinCount * 2 >= otherCount) return characters;
  return characters.filter((character) => character < 'A' || character > 'z');
}

function isOtherScript(character: string): boolean {
  const code = character.codePointAt(0) ?? 0;
  return code >= 0x300 && !(code >= 0x1e00 && code <= 0x1eff);
}
