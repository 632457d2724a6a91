import type { RenderedExample } from '../core/conversation';
import type { Datum } from '../core/datum';
import { DomainError } from '../core/errors';

export interface DatumOptions {
  /** Longer examples lose tokens on the right. */
  readonly maxLength: number;
  /** `mean` divides the weights by their sum, so that each example counts the same however long its replies are. */
  readonly reduction: 'none' | 'mean';
}

/** Next-token training example: position i holds token i, its target token i+1 and that target's weight. */
export function toDatum(rendered: RenderedExample, options: DatumOptions): Datum {
  const length = Math.min(rendered.tokens.length, options.maxLength);
  if (length < 2) {
    throw new DomainError(
      'bad-dataset',
      `An example needs at least 2 tokens, one to read and one to predict, and has ${length} ` +
        `(${rendered.tokens.length} before cutting to maxLength ${options.maxLength}). Remove the row or raise maxLength.`,
    );
  }
  const weights = Float32Array.from(rendered.weights.slice(1, length));
  const sum = weights.reduce((total, weight) => total + weight, 0);
  return {
    tokens: Int32Array.from(rendered.tokens.slice(0, length - 1)),
    targetTokens: Int32Array.from(rendered.tokens.slice(1, length)),
    lossInputs: {
      weights: options.reduction === 'mean' && sum > 0 ? weights.map((weight) => weight / sum) : weights,
    },
  };
}

export interface Truncation {
  readonly droppedTokenCount: number;
  readonly droppedLossTokenCount: number;
  /** The example had tokens with loss and none is left: it would train nothing. */
  readonly isLossGone: boolean;
}

/** What `toDatum` cuts off at `maxLength`, for reports and warnings. */
export function describeTruncation(rendered: RenderedExample, maxLength: number): Truncation {
  const lossTokenCount = countLoss(rendered.weights.slice(1));
  const keptLossTokenCount = countLoss(rendered.weights.slice(1, maxLength));
  return {
    droppedTokenCount: Math.max(0, rendered.tokens.length - maxLength),
    droppedLossTokenCount: lossTokenCount - keptLossTokenCount,
    isLossGone: lossTokenCount > 0 && keptLossTokenCount === 0,
  };
}

function countLoss(weights: readonly number[]): number {
  return weights.filter((weight) => weight > 0).length;
}
