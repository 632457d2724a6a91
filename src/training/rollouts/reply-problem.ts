import type { SampledAction } from './sample-action';

/** What of a reply cannot be read. */
export interface ReplyProblem {
  readonly kind: 'structure' | 'content';
  readonly details: string;
}

/** Reasons of one reply that are repeated; it may hold a call for every few characters. */
const MOST_TOLD = 20;

export function problemOf({ reply }: SampledAction): ReplyProblem | null {
  const { termination, unparsedToolCalls = [] } = reply;
  if (termination === 'malformed') return { kind: 'structure', details: 'the message has no proper end' };
  if (unparsedToolCalls.length === 0) return null;
  const told = unparsedToolCalls.slice(0, MOST_TOLD).map(({ reason }) => reason);
  const more = unparsedToolCalls.length - told.length;
  return { kind: 'content', details: [...told, ...(more > 0 ? [`and ${more} more`] : [])].join('\n') };
}

export function hasCalls({ reply }: SampledAction): boolean {
  return (reply.message.toolCalls?.length ?? 0) > 0;
}
