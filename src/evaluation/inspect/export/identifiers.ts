import { createHash } from 'node:crypto';

const ALPHABET = '23456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz';
const LENGTH = 22;

/** An identifier such as Inspect makes, and always the same for the same subject: exporting twice gives one log. */
export function identifierOf(...subject: readonly unknown[]): string {
  const bytes = createHash('sha256').update(JSON.stringify(subject)).digest();
  return [...bytes.subarray(0, LENGTH)].map((byte) => ALPHABET[byte % ALPHABET.length]).join('');
}
