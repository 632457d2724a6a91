import type { SampledAction } from './sample-action';

/** What of a reply cannot be read. */
export interface ReplyProblem {
  readonly kind: 'structure' | 'content';
  readonly details: string;
}

export function problemOf({ reply }: SampledAction): ReplyProblem | null {
  const { termination, unparsedToolCalls = [] } = reply;
  if (termination === 'malformed') return { kind: 'structure', details: 'the message has no proper end' };
  if (unparsedToolCalls.length === 0) return null;
  return { kind: 'content', details: unparsedToolCalls.map(({ reason }) => reason).join('\n') };
}

export function hasCalls({ reply }: SampledAction): boolean {
  return (reply.message.toolCalls?.length ?? 0) > 0;
}
