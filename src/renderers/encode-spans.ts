import type { RenderedExample } from '../core/conversation';

/** A stretch of a text that carries loss. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

/** Pieces are encoded one by one, so that the tokens of a prompt are a prefix of the tokens trained on. */
export function encodeSpans(
  text: string,
  spans: readonly Span[],
  encode: (piece: string) => readonly number[],
): RenderedExample {
  const tokens: number[] = [];
  const weights: number[] = [];
  const append = (piece: string, weight: number) => {
    for (const token of encode(piece)) {
      tokens.push(token);
      weights.push(weight);
    }
  };
  let position = 0;
  for (const { start, end } of spans) {
    append(text.slice(position, start), 0);
    append(text.slice(start, end), 1);
    position = end;
  }
  append(text.slice(position), 0);
  return { tokens, weights };
}
