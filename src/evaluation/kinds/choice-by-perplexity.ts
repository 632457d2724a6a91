import { largestOf } from '../../core/extremes';
import type { Tokenizer } from '../../core/tokenizer';
import type { Row } from '../graders/row-grader';
import type { JudgedSample, Kind, KindDeclaration, KindSite, PreparedExample, Probe } from './kind';
import type { ScoredSequence } from './kind';
import { promptRoom, reduceScores } from './kind';

export interface ChoiceItem {
  /** May be empty: then the text begins behind the model's own begin of text. */
  readonly prefix: string;
  readonly continuations: readonly string[];
  /** Index of the right one. */
  readonly correct: number;
}

export interface ChoiceTask extends KindDeclaration {
  get(row: Row, index: number): ChoiceItem | null;
}

/**
 * Which of several continuations the model finds likeliest, by the mean of their tokens' log-probabilities.
 *
 * Every token of a continuation is scored, and none of the prefix but one that a tokenizer merges across the boundary. A
 * prefix that is too long loses its beginning, never the continuation; where a continuation alone does not fit, or
 * nothing stands before its only token, the example counts 0. Right means likelier than each other: a tie is wrong.
 */
export function choiceByPerplexity(task: ChoiceTask): Kind {
  const { name, version = 1, description = name, data } = task;
  return {
    kind: 'choiceByPerplexity',
    name,
    version,
    description,
    data,
    metric: 'accuracy',
    higherIsBetter: true,
    prepare(row, index, site) {
      const item = task.get(row, index);
      return item === null ? null : prepareItem(item, site);
    },
    reduce: reduceScores,
  };
}

function prepareItem(item: ChoiceItem, site: KindSite): PreparedExample {
  const probes = item.continuations.map((continuation) => probeOf(item.prefix, continuation, site));
  const scorable = probes.filter((probe) => probe !== null);
  return {
    sampleCount: 1,
    probes: scorable.length === probes.length ? scorable : [],
    judge: (sequences) => [judgeChoice(sequences, item.correct)],
  };
}

/** null where the continuation cannot be scored whole. */
function probeOf(prefix: string, continuation: string, { tokenizer, contextLength }: KindSite): Probe | null {
  const before = prefix === '' ? beginOfText(tokenizer) : [];
  const tokens = [...before, ...tokenizer.encode(prefix + continuation)];
  const boundary = before.length + sharedLength(tokenizer.encode(prefix), tokens.slice(before.length));
  // Nothing predicts the first token of all.
  const start = Math.max(boundary, 1);
  const scoredCount = tokens.length - start;
  const excess = Math.max(0, tokens.length - promptRoom(contextLength));
  if (scoredCount < 1 || excess >= start) return null;
  return { tokens: tokens.slice(excess), start: start - excess, ask: 'logprobs' };
}

function beginOfText(tokenizer: Tokenizer): readonly number[] {
  if (tokenizer.bosToken !== null) return tokenizer.encode(tokenizer.bosToken, { allowSpecial: true });
  return tokenizer.eosTokenId === null ? [] : [tokenizer.eosTokenId];
}

/** A token that spans the boundary differs from those of the prefix alone, and belongs to the continuation. */
function sharedLength(prefix: readonly number[], whole: readonly number[]): number {
  const difference = prefix.findIndex((token, index) => token !== whole[index]);
  return difference < 0 ? prefix.length : difference;
}

function judgeChoice(sequences: readonly ScoredSequence[], correct: number): JudgedSample {
  const means = sequences.map(({ logprobs }) => meanOf(logprobs ?? []));
  const best = means.indexOf(largestOf(means));
  const right = means[correct] ?? -Infinity;
  const isRight = means.every((mean, index) => index === correct || right > mean);
  return { value: Number(isRight), sequence: sequences[best] ?? null };
}

function meanOf(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0) / values.length;
}
