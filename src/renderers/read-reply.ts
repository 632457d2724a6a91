import { readWithin } from '../sandboxes/read-within';
import type { ParsedReply } from './renderer';

/** What a reply says; its whole text where it has no proper end, or takes longer to read than any honest one, which counts as none. */
export function readReply(
  text: string,
  termination: ParsedReply['termination'],
  parse: () => Omit<ParsedReply, 'termination'>,
): ParsedReply {
  const read = termination === 'malformed' ? null : readWithin(parse);
  if (read) return { ...read.result, termination };
  return { message: { role: 'assistant', content: text }, termination: 'malformed' };
}
