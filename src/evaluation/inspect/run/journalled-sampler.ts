import { anySignal } from '../../../core/concurrency/any-signal';
import { DomainError } from '../../../core/errors';
import type { SampleRequest, SampleResult, Sampler } from '../../../core/sampling';
import type { Journal } from '../../../stores/fenced-journal';
import { digestOf, seedOf } from '../../digest';
import { isOfWholeCell } from '../../evaluators/example-failures';
import type { KeyedRow } from '../../evaluators/journalled-work';
import type { StoredAnswer } from './stored-answer';
import { readAnswer, storedAnswer } from './stored-answer';

export interface CallRow extends KeyedRow {
  readonly result: StoredAnswer;
}

export interface JournalledSamplerOptions {
  readonly sampler: Sampler;
  readonly journal: Pick<Journal<CallRow>, 'get' | 'appendWhenRoom' | 'verify'>;
  /** What the weights are. */
  readonly identity: string;
  /** Fires when the evaluation ends: an answer that is under way is then nobody's. */
  readonly signal: AbortSignal;
  readonly onAnswer: (count: number) => void;
  /** Hears of failures that say nothing of the request: the evaluation ends. */
  readonly onFailure: (error: DomainError) => void;
}

/**
 * Answers from the journal what was answered before, and journals what is new.
 *
 * The same request asked twice is two draws: each takes the lowest number that nobody has, and gives it back when it fails, so
 * that whoever repeats all of it finds each answer once. A request without a seed gets one from its contents and number, which
 * makes a repeated evaluation draw what the first one would have drawn.
 */
export class JournalledSampler implements Sampler {
  private readonly taken = new Map<string, Set<number>>();
  private answerCount = 0;

  constructor(private readonly options: JournalledSamplerOptions) {}

  async sample(
    request: SampleRequest,
    { signal }: { readonly signal?: AbortSignal } = {},
  ): Promise<SampleResult> {
    const digest = digestOf([this.options.identity, request]);
    const number = this.take(digest);
    try {
      return await this.answer(request, { key: `${digest}#${number}`, signal });
    } catch (error) {
      this.taken.get(digest)?.delete(number);
      if (error instanceof DomainError && isOfWholeCell(error)) this.options.onFailure(error);
      throw error;
    }
  }

  private async answer(
    request: SampleRequest,
    { key, signal: asked }: { readonly key: string; readonly signal: AbortSignal | undefined },
  ): Promise<SampleResult> {
    const { journal, sampler, signal, onAnswer } = this.options;
    const known = journal.get(key);
    if (!known) journal.verify();
    const both = asked ? anySignal([signal, asked]) : signal;
    const result = known
      ? readAnswer(known.result)
      : await sampler.sample(seeded(request, key), { signal: both });
    if (!known) await journal.appendWhenRoom({ key, result: storedAnswer(result) }, { signal });
    onAnswer(++this.answerCount);
    return result;
  }

  private take(digest: string): number {
    const numbers = this.taken.get(digest) ?? new Set<number>();
    this.taken.set(digest, numbers);
    let number = 1;
    while (numbers.has(number)) number += 1;
    numbers.add(number);
    return number;
  }
}

function seeded(request: SampleRequest, key: string): SampleRequest {
  if (request.params.seed !== undefined) return request;
  return { ...request, params: { ...request.params, seed: seedOf(key) } };
}
