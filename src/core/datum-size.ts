import type { Datum } from './datum';

/** Of the datums that are looked at in one step of a large request. */
export const SIZE_AT_ONCE = 4 * 1024 * 1024;
/** What a datum without numbers takes to look at, in bytes of numbers. */
const OWN_SIZE = 1024;

/** How much there is to look at: the bytes of its numbers, and what it takes by itself. */
export function sizeOf(datum: Datum): number {
  return OWN_SIZE + bytesOf(datum);
}

export function bytesOf({ tokens, targetTokens, lossInputs }: Datum): number {
  const inputs = Object.values(lossInputs).reduce((sum, values) => sum + values.byteLength, 0);
  return tokens.byteLength + targetTokens.byteLength + inputs;
}
