import { DomainError } from '../core/errors';

const KNOWN = ' Known: ';

/** Several refusals of unknown benchmarks as one: each with its nearest, and what is known once. */
export class UnknownBenchmarks {
  private readonly found: DomainError[] = [];

  /** Notes the refusal of an unknown benchmark; anything else is thrown again. */
  note(error: unknown): void {
    if (!(error instanceof DomainError) || error.code !== 'unknown-benchmark') throw error;
    this.found.push(error);
  }

  /** Refuses all that was noted, if anything was. */
  refuse(): void {
    const [first, ...others] = this.found;
    if (!first) return;
    if (others.length === 0) throw first;
    const known = partsOf(first)[1];
    const each = this.found.map((error) => partsOf(error)[0]);
    throw new DomainError('unknown-benchmark', `${each.join(' ')}${KNOWN}${known}`, { cause: first });
  }
}

function partsOf({ message }: DomainError): [told: string, known: string] {
  const at = message.lastIndexOf(KNOWN);
  return at < 0 ? [message, ''] : [message.slice(0, at), message.slice(at + KNOWN.length)];
}
