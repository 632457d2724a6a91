import type { EvaluatorConfig } from '../../config/evaluation-config';
import { DomainError } from '../../core/errors';
import { countText } from '../../core/metrics/counted-text';
import type { CountedText } from '../../core/metrics/counted-text';
import type { LikelihoodSums } from '../../core/metrics/supervised-metrics';
import { likelihoodSums } from '../../core/metrics/supervised-metrics';
import { shuffledIndices } from '../../core/random';
import type { CellScore } from '../../core/run';
import type { RatioPart } from '../../core/statistics/mean';
import { ratioOf } from '../../core/statistics/mean';
import { positiveInterval } from '../../core/statistics/positive-interval';
import { inTurns } from '../../core/tokenizer';
import type { ConversationRow } from '../../datasets/dataset';
import { toDatum } from '../../datasets/to-datum';
import { renderWithTools } from '../../renderers/conversation-with-tools';
import { digestOf } from '../digest';
import type { CellWork, EvaluationDependencies, Supervision } from './evaluation-context';
import { identityOf } from './evaluation-context';
import type { KeyedRow } from './journalled-work';
import { allInTurns, ofCell, withJournal } from './journalled-work';

type NllConfig = Extract<EvaluatorConfig, { type: 'nll' }>;

/** What one example adds to the means. */
type LikelihoodRow = KeyedRow & LikelihoodSums & { readonly example_id: string };

const DEFAULT_SUPERVISION: Supervision = { trainOnWhat: 'allAssistantMessages', lossReduction: 'mean' };

/**
 * Mean negative log-likelihood and bits per byte of held-out conversations, from the sampler's prompt log-probs.
 *
 * `nll` = −Σ(log-probability · weight) ÷ Σ weight with the weights training uses; `bpb` = −Σ log-probability of counted
 * tokens ÷ (ln 2 · their UTF-8 bytes). Both are ratios of sums over examples, and their standard errors are those of a
 * ratio (`ratioOf`): examples are independent, their tokens are not. null where nothing carries weight. A row that the renderer
 * refuses is an error that names it, or left out with `onBadRow: skip`, and said in the remark.
 */
export async function evaluateNll(
  dependencies: EvaluationDependencies,
  config: NllConfig,
  work: CellWork,
): Promise<CellScore[]> {
  const { rows } = await dependencies.loadDataset(config.dataset);
  const chosen = choose(rows, config.maxExamples);
  const refusals: string[] = [];
  const measured = await withJournal<LikelihoodRow, (LikelihoodRow | null)[]>(
    ofCell(work),
    'likelihoods',
    (journal) => {
      let done = 0;
      return allInTurns(chosen, { limit: config.concurrency, signal: work.signal }, async (row, signal) => {
        const sequence = await prepare(dependencies, row, signal).catch((error: unknown) => {
          if (config.dataset.onBadRow !== 'skip' || !isBadRow(error)) throw error;
          refusals.push(error.message);
          return null;
        });
        if (sequence === null) {
          work.onProgress({ done: ++done, total: chosen.length });
          return null;
        }
        const key = digestOf([identityOf(work.model), sequence.tokens, [...sequence.weights]]);
        const known = journal.get(key) ?? {
          key,
          example_id: row.id,
          ...(await measure(dependencies, sequence, signal)),
        };
        await journal.appendWhenRoom(known, { signal });
        work.onProgress({ done: ++done, total: chosen.length });
        journal.verify();
        return known;
      });
    },
  );
  const sums = measured.filter((row) => row !== null);
  const data = digestOf(chosen.map(({ id }) => id)).slice(0, 32);
  const scores = [
    scoreOf(
      work.name,
      'nll',
      sums.map(({ nll, weight }) => ({ numerator: nll, denominator: weight })),
    ),
    scoreOf(
      work.name,
      'bpb',
      sums.map(({ nats, bytes }) => ({ numerator: nats / Math.LN2, denominator: bytes })),
    ),
  ].map((score): CellScore => ({ ...score, data }));
  const [first] = refusals.sort();
  if (first === undefined) return scores;
  const remark = `${refusals.length} of ${chosen.length} rows were left out (onBadRow: skip), one of them because: ${first}`;
  return scores.map((score) => ({ ...score, remark }));
}

function isBadRow(error: unknown): error is DomainError {
  return error instanceof DomainError && error.code === 'bad-dataset';
}

interface PreparedSequence extends CountedText {
  /** The whole sequence; position i predicts token i + 1. */
  readonly tokens: readonly number[];
  readonly weights: Float32Array;
}

function choose(rows: readonly ConversationRow[], maxExamples = rows.length): ConversationRow[] {
  if (maxExamples >= rows.length) return [...rows];
  return [...shuffledIndices(rows.length, 0).slice(0, maxExamples)].flatMap((index) => rows[index] ?? []);
}

async function prepare(
  { renderer, tokenizer, contextLength, supervision }: EvaluationDependencies,
  row: ConversationRow,
  signal: AbortSignal,
): Promise<PreparedSequence> {
  const { trainOnWhat, lossReduction, maxLength } = supervision ?? DEFAULT_SUPERVISION;
  const mostTokens = Math.min(maxLength ?? Infinity, contextLength ?? Infinity);
  const rendered = await inTurns(
    tokenizer,
    () =>
      renderWithTools(renderer, row, (conversation) =>
        renderer.buildSupervisedExample(conversation, trainOnWhat),
      ),
    { mostTokens, isCutAllowed: true, signal },
  ).catch((error: unknown) => {
    if (!isBadRow(error)) throw error;
    throw new DomainError(error.code, `${row.place ?? `example ${row.id}`}: ${error.message}`, {
      cause: error,
    });
  });
  const limit = Math.min(mostTokens, rendered.tokens.length);
  const { targetTokens, lossInputs } = toDatum(rendered, { maxLength: limit, reduction: lossReduction });
  const weights = lossInputs['weights'] ?? new Float32Array(targetTokens.length);
  const tokens = rendered.tokens.slice(0, limit);
  return { tokens, weights, ...countText(tokenizer, targetTokens, weights) };
}

async function measure(
  { sampler }: EvaluationDependencies,
  sequence: PreparedSequence,
  signal: AbortSignal,
): Promise<LikelihoodSums> {
  if (sequence.weights.every((weight) => weight === 0)) return { nll: 0, weight: 0, nats: 0, bytes: 0 };
  // The protocol draws at least one token; only the prompt's log-probs are wanted.
  const params = { maxTokens: 1, temperature: 0, topK: -1, topP: 1, seed: 0 };
  const request = { prompt: sequence.tokens, numSamples: 1, params, promptLogprobs: true };
  const { promptLogprobs } = await sampler.sample(request, { signal });
  if (promptLogprobs?.length !== sequence.tokens.length) {
    throw new DomainError(
      'protocol-error',
      `The engine gave ${promptLogprobs?.length ?? 'no'} prompt log-probs for ${sequence.tokens.length} tokens. Use an engine that supports prompt log-probs, or leave the nll evaluator out.`,
    );
  }
  const logprobs = promptLogprobs.slice(1).map((logprob) => logprob ?? 0);
  return likelihoodSums({ ...sequence, logprobs });
}

function scoreOf(name: string, metric: string, parts: readonly RatioPart[]): CellScore {
  // Examples without weight say nothing, not that the loss is 0.
  const counted = parts.filter(({ denominator }) => denominator > 0);
  const ratio = ratioOf(counted);
  const isSpreadKnown = ratio !== null && ratio.standardError !== null;
  return {
    metric,
    key: `${name}/${metric}`,
    value: ratio?.mean ?? null,
    stderr: ratio?.standardError ?? null,
    n: counted.length,
    higherIsBetter: false,
    ...(isSpreadKnown && { ci: positiveInterval(ratio.mean, ratio.standardError) }),
  };
}
