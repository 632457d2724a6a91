import type { EvaluatorConfig } from '../../config/evaluation-config';
import { DomainError } from '../../core/errors';
import type { LikelihoodSums } from '../../core/metrics/supervised-metrics';
import { likelihoodSums } from '../../core/metrics/supervised-metrics';
import type { CellScore } from '../../core/run';
import type { RatioPart } from '../../core/statistics/mean';
import { ratioOf } from '../../core/statistics/mean';
import { positiveInterval } from '../../core/statistics/positive-interval';
import { digestOf } from '../digest';
import type { CellWork, EvaluationDependencies } from './evaluation-context';
import { identityOf } from './evaluation-context';
import type { KeyedRow } from './journalled-work';
import { allInTurns, ofCell, withJournal } from './journalled-work';
import type { MeasuredSequence } from './nll-sequence';
import { chooseRows, isBadRow, measuredSequence, placeOfConversation } from './nll-sequence';

type NllConfig = Extract<EvaluatorConfig, { type: 'nll' }>;

/** What one example adds to the means. */
type LikelihoodRow = KeyedRow & LikelihoodSums & { readonly example_id: string };

/**
 * Mean negative log-likelihood and bits per byte of held-out conversations, from the sampler's prompt log-probs.
 *
 * `nll` = −Σ(log-probability · weight) ÷ Σ weight with the weights training uses; `bpb` = −Σ log-probability of counted
 * tokens ÷ (ln 2 · their UTF-8 bytes). Both are ratios of sums over examples, and their standard errors are those of a
 * ratio (`ratioOf`): examples are independent, their tokens are not. null where nothing carries weight. A row that the renderer
 * refuses, or that the model cannot read as a whole, is an error that names it, or left out with `onBadRow: skip`. The remark says so,
 * and how many rows `maxLength` cuts and how many measure nothing.
 */
export async function evaluateNll(
  dependencies: EvaluationDependencies,
  config: NllConfig,
  work: CellWork,
): Promise<CellScore[]> {
  const { rows } = await dependencies.loadDataset(config.dataset);
  const chosen = chooseRows(rows, config.maxExamples);
  const refusals: string[] = [];
  const facts: RowFacts[] = [];
  const measured = await withJournal<LikelihoodRow, (LikelihoodRow | null)[]>(
    ofCell(work),
    'likelihoods',
    (journal) => {
      let done = 0;
      return allInTurns(chosen, { limit: config.concurrency, signal: work.signal }, async (row, signal) => {
        const sequence = await measuredSequence(dependencies, row, signal).catch((error: unknown) => {
          if (!isBadRow(error)) throw error;
          const message = `${placeOfConversation(row)}: ${error.message}`;
          if (config.dataset.onBadRow !== 'skip')
            throw new DomainError(error.code, message, { cause: error });
          refusals.push(message);
          return null;
        });
        if (sequence === null) {
          work.onProgress({ done: ++done, total: chosen.length });
          return null;
        }
        const { isCut, loss, countedBytes } = sequence;
        facts.push({ isCut, loss, countedBytes });
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
  const remark = remarkOn(facts, refusals, dependencies.supervision?.maxLength);
  return remark === null ? scores : scores.map((score) => ({ ...score, remark }));
}

type RowFacts = Pick<MeasuredSequence, 'isCut' | 'loss' | 'countedBytes'>;

/** What the numbers alone do not say: rows that are left out, cut, or measure nothing. */
function remarkOn(
  facts: readonly RowFacts[],
  refusals: readonly string[],
  maxLength: number | undefined,
): string | null {
  const total = facts.length + refusals.length;
  const told = (isCounted: (row: RowFacts) => boolean, what: string): string[] => {
    const count = facts.filter(isCounted).length;
    return count === 0 ? [] : [`${count} of ${total} rows ${what}`];
  };
  const goneCount = facts.filter(({ loss }) => loss === 'gone').length;
  const gone =
    goneCount === 0 ? '' : `, ${goneCount} of them before all that has loss: these measure nothing`;
  const [first] = refusals.toSorted();
  const parts = [
    ...told(({ isCut }) => isCut, `were cut at maxLength ${maxLength ?? ''}${gone}`),
    ...told(({ loss }) => loss === 'none', 'measure nothing: no token has loss (no reply, or weight 0)'),
    ...told(
      ({ loss, countedBytes }) => loss === 'some' && countedBytes === 0,
      'have loss on the end of a reply alone (it is empty, or cut before its words) and count in no bpb',
    ),
    ...(first === undefined
      ? []
      : [
          `${refusals.length} of ${total} rows were left out (onBadRow: skip), one of them because: ${first}`,
        ]),
  ];
  return parts.length === 0 ? null : parts.join('; ');
}

async function measure(
  { sampler }: EvaluationDependencies,
  sequence: MeasuredSequence,
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
