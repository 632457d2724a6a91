import type { Row } from '../graders/row-grader';
import type { JudgedSample, Kind, KindDeclaration, ScoredSequence } from './kind';
import { promptRoom } from './kind';

export interface PerplexityTask extends KindDeclaration {
  get(row: Row, index: number): string | null;
}

/**
 * How surprised the model is by texts; lower is better.
 *
 * The value of a text is exp(−Σ log p ÷ tokens), without its first token, which nothing predicts. Of many texts, by mean
 * or sum alike, it is that of all their tokens together, so that a short text weighs little. Texts that are too long lose
 * their end; texts of fewer than two tokens have no value and do not count.
 */
export function perplexity(task: PerplexityTask): Kind {
  const { name, version = 1, description = name, data } = task;
  return {
    kind: 'perplexity',
    name,
    version,
    description,
    data,
    metric: 'perplexity',
    higherIsBetter: false,
    prepare(row, index, { tokenizer, contextLength }) {
      const text = task.get(row, index);
      if (text === null) return null;
      const tokens = tokenizer.encode(text).slice(0, promptRoom(contextLength));
      return {
        sampleCount: 1,
        probes: tokens.length < 2 ? [] : [{ tokens, start: 1, ask: 'logprobs' }],
        judge: (sequences) => sequences.map((sequence) => ({ value: perplexityOf([sequence]), sequence })),
      };
    },
    reduce: (judged: readonly JudgedSample[]) =>
      perplexityOf(judged.flatMap(({ sequence }) => (sequence === null ? [] : [sequence]))),
  };
}

function perplexityOf(sequences: readonly ScoredSequence[]): number | null {
  let [sum, count] = [0, 0];
  for (const { logprobs } of sequences) {
    for (const logprob of logprobs ?? []) sum += logprob;
    count += logprobs?.length ?? 0;
  }
  return count === 0 ? null : Math.exp(-sum / count);
}
