import type { Tokenizer } from '../tokenizer';

export interface CountedText {
  /** 1 where the target token counts for bits per byte: it carries weight and is not special. */
  readonly counted: Uint8Array;
  /** UTF-8 bytes of the counted tokens' text. */
  readonly countedBytes: number;
}

/** Which targets count for bits per byte, and how many bytes they are. */
export function countText(
  tokenizer: Pick<Tokenizer, 'decode' | 'isSpecial'>,
  targets: Int32Array,
  weights: ArrayLike<number>,
): CountedText {
  const counted = Uint8Array.from(targets, (token, index) =>
    Number((weights[index] ?? 0) > 0 && !tokenizer.isSpecial(token)),
  );
  const encoder = new TextEncoder();
  const countedBytes = runsOf(targets, counted)
    // Decoded together, because a character may span tokens.
    .map((run) => encoder.encode(tokenizer.decode(run)).length)
    .reduce((total, bytes) => total + bytes, 0);
  return { counted, countedBytes };
}

/** Unbroken stretches of counted tokens. */
function runsOf(tokens: Int32Array, counted: Uint8Array): number[][] {
  const runs: number[][] = [];
  tokens.forEach((token, index) => {
    if (!counted[index]) return;
    if (index === 0 || !counted[index - 1]) runs.push([]);
    runs.at(-1)?.push(token);
  });
  return runs;
}
