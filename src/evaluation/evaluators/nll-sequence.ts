import { DomainError } from '../../core/errors';
import { countText } from '../../core/metrics/counted-text';
import type { CountedText } from '../../core/metrics/counted-text';
import type { RenderedExample } from '../../core/conversation';
import { shuffledIndices } from '../../core/random';
import { inTurns, TooManyTokens } from '../../core/tokenizer';
import type { ConversationRow } from '../../datasets/dataset';
import { describeTruncation, toDatum } from '../../datasets/to-datum';
import { renderWithTools } from '../../renderers/conversation-with-tools';
import type { EvaluationDependencies, Supervision } from './evaluation-context';

/** What conversations are turned into tokens with, and how many of those the model reads. */
export type SequenceSite = Pick<
  EvaluationDependencies,
  'renderer' | 'tokenizer' | 'contextLength' | 'supervision'
>;

export interface MeasuredSequence extends CountedText {
  /** The whole sequence; position i predicts token i + 1. */
  readonly tokens: readonly number[];
  readonly weights: Float32Array;
  /** `maxLength` cuts its end off. */
  readonly isCut: boolean;
  /** `gone`: the cut left none of it; `none`: no token of the row has any. */
  readonly loss: 'some' | 'gone' | 'none';
}

const DEFAULT_SUPERVISION: Supervision = { trainOnWhat: 'allAssistantMessages', lossReduction: 'mean' };

/** The rows that are measured: all, or a seeded choice. */
export function chooseRows(
  rows: readonly ConversationRow[],
  maxExamples = rows.length,
): readonly ConversationRow[] {
  if (maxExamples >= rows.length) return rows;
  return [...shuffledIndices(rows.length, 0).slice(0, maxExamples)].flatMap((index) => rows[index] ?? []);
}

/**
 * What a row is measured as. One that the renderer refuses is `bad-dataset`, and so is one that the model cannot read as a whole,
 * unless `maxLength` says that rows may be cut.
 */
export async function measuredSequence(
  site: SequenceSite,
  row: ConversationRow,
  signal: AbortSignal,
): Promise<MeasuredSequence> {
  const { renderer, tokenizer, contextLength, supervision = DEFAULT_SUPERVISION } = site;
  const { trainOnWhat, lossReduction, maxLength } = supervision;
  const mostTokens = Math.min(maxLength ?? Infinity, contextLength ?? Infinity);
  const isCutAllowed = maxLength !== undefined;
  const rendered = await inTurns(
    tokenizer,
    () =>
      renderWithTools(renderer, row, (conversation) =>
        renderer.buildSupervisedExample(conversation, trainOnWhat),
      ),
    { mostTokens, isCutAllowed, signal },
  ).catch((error: unknown) => {
    throw error instanceof TooManyTokens ? tooLong(`at least ${error.leastTokens}`, mostTokens) : error;
  });
  if (rendered.tokens.length > mostTokens && !isCutAllowed)
    throw tooLong(String(rendered.tokens.length), mostTokens);
  const limit = Math.min(mostTokens, rendered.tokens.length);
  const { targetTokens, lossInputs } = toDatum(rendered, { maxLength: limit, reduction: lossReduction });
  const weights = lossInputs['weights'] ?? new Float32Array(targetTokens.length);
  return {
    tokens: rendered.tokens.slice(0, limit),
    weights,
    ...countText(tokenizer, targetTokens, weights),
    isCut: rendered.tokens.length > limit,
    loss: lossOf(rendered, limit),
  };
}

export function isBadRow(error: unknown): error is DomainError {
  return error instanceof DomainError && error.code === 'bad-dataset';
}

export function placeOfConversation({ place, id }: ConversationRow): string {
  return place ?? `example ${id}`;
}

function lossOf(rendered: RenderedExample, limit: number): MeasuredSequence['loss'] {
  if (describeTruncation(rendered, limit).isLossGone) return 'gone';
  return rendered.weights.slice(1).some((weight) => weight > 0) ? 'some' : 'none';
}

function tooLong(tokens: string, mostTokens: number): DomainError {
  return new DomainError(
    'bad-dataset',
    `it has ${tokens} tokens and the model reads ${mostTokens}. Shorten or remove the row, leave such rows out with onBadRow: skip, or have them cut with maxLength: ${mostTokens} in the config of a supervised run.`,
  );
}
