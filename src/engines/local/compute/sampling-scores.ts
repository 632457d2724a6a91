import { emptyCells } from '../../../core/sampling-scores';
import type { TokenCells } from '../../../core/sampling';
import { alternativesSeed, chooseToken, drawWithReplacement, uniformAt } from './choose-token';
import { chooseTop } from './choose-top';
import { softmaxOf } from './sampling-softmax';
import type { Pointer } from './kernels';
import type { Network } from './network';
import type { Softmax } from './sampling-softmax';
import type { Workspace } from './workspace';

/** What is wanted of the distributions that follow the tokens of a stretch of a prompt. */
export interface StretchScoring {
  /** The tokens that do follow. */
  readonly nextTokens: readonly number[] | null;
  /** How many of the likeliest. */
  readonly topCount: number;
  /** Tokens asked for after each, -1 for none. */
  readonly targets: readonly Int32Array[] | null;
  readonly alternatives: {
    readonly count: number;
    readonly temperature: number;
    /** Of the request: what is drawn where depends on it and the place in the prompt alone. */
    readonly seed: number;
  } | null;
}

export interface StretchScores {
  readonly logprobs: readonly number[] | null;
  readonly top: TokenCells | null;
  /** Of all targets, one after the other. */
  readonly targets: readonly number[] | null;
  readonly alternatives: TokenCells | null;
}

export interface ScoredStretch {
  readonly start: number;
  readonly tokens: readonly number[];
  readonly scoring: StretchScoring | null;
}

/** Scores are those of the model's distribution at temperature 1; only alternatives are drawn at their own. */
export function scoreStretches(
  space: Workspace,
  network: Network,
  { logits, stretches }: { readonly logits: Pointer; readonly stretches: readonly ScoredStretch[] },
): (StretchScores | null)[] {
  const temperatures = stretches.flatMap(({ tokens, scoring }) => {
    const temperature = scoring?.alternatives?.temperature ?? 0;
    return tokens.map(() => (temperature === 0 ? 1 : temperature));
  });
  const softmax = softmaxOf(space, network, { logits, temperatures: temperatures.map(() => 1) });
  const drawing = temperatures.every((temperature) => temperature === 1)
    ? softmax
    : softmaxOf(space, network, { logits, temperatures });
  let next = 0;
  return stretches.map((stretch) => {
    const firstRow = next;
    next += stretch.tokens.length;
    return (
      stretch.scoring && new StretchScorer(stretch, { firstRow, softmax, drawing }).score(stretch.scoring)
    );
  });
}

class StretchScorer {
  constructor(
    private readonly stretch: ScoredStretch,
    private readonly rows: {
      readonly firstRow: number;
      readonly softmax: Softmax;
      readonly drawing: Softmax;
    },
  ) {}

  score({ nextTokens, topCount, targets, alternatives }: StretchScoring): StretchScores {
    const { firstRow, softmax } = this.rows;
    const scoreOf = (token: number, index: number): number => softmax.logprob(firstRow + index, token);
    return {
      logprobs: nextTokens && nextTokens.map(scoreOf),
      top: topCount > 0 ? this.top(topCount) : null,
      targets:
        targets &&
        targets.flatMap((tokens, index) =>
          Array.from(tokens, (token) => (token === -1 ? 0 : scoreOf(token, index))),
        ),
      alternatives: alternatives && this.alternatives(alternatives),
    };
  }

  private top(count: number): TokenCells {
    return this.cells(count, (row) => topCells(this.rows.softmax, row, count));
  }

  private alternatives({
    count,
    temperature,
    seed,
  }: NonNullable<StretchScoring['alternatives']>): TokenCells {
    const { drawing, softmax, firstRow } = this.rows;
    return this.cells(count, (row) => {
      const probabilities = drawing.probabilities(row);
      const stream = alternativesSeed(seed, this.stretch.start + row - firstRow);
      const uniforms = Float64Array.from({ length: count }, (_, index) => uniformAt(stream, index));
      const tokens =
        temperature === 0
          ? new Int32Array(count).fill(chooseToken(probabilities, { temperature, topK: -1, topP: 1 }, 0))
          : drawWithReplacement(probabilities, uniforms);
      return { tokens, logprobs: Float32Array.from(tokens, (token) => softmax.logprob(row, token)) };
    });
  }

  private cells(width: number, rowOf: (row: number) => Omit<TokenCells, 'width'>): TokenCells {
    const cells = emptyCells(this.stretch.tokens.length, width);
    for (let index = 0; index < this.stretch.tokens.length; index++) {
      const { tokens, logprobs } = rowOf(this.rows.firstRow + index);
      cells.tokens.set(tokens, index * width);
      cells.logprobs.set(logprobs, index * width);
    }
    return cells;
  }
}

/** One row of the likeliest tokens; empty cells follow where there are more than the vocabulary has. */
export function topCells(softmax: Softmax, row: number, count: number): TokenCells {
  const cells = emptyCells(1, count);
  for (const [index, token] of chooseTop(softmax.logits(row), count).entries()) {
    cells.tokens[index] = token;
    cells.logprobs[index] = softmax.logprob(row, token);
  }
  return cells;
}
