import { emptyCells, rowStartOf } from '../../../core/sampling-scores';
import type { SampleRequest, SampleResult, TokenCells } from '../../../core/sampling';
import { drawParams } from './choose-token';
import type { StretchScores, StretchScoring } from './sampling-scores';

/** The scores of one request's prompt, gathered stretch by stretch. */
export class PromptScores {
  private readonly logprobs: number[] = [];
  private readonly targets: number[] = [];
  private readonly topStretches: TokenCells[] = [];
  private readonly alternativeStretches: TokenCells[] = [];

  constructor(
    private readonly request: SampleRequest,
    private readonly seed: number,
  ) {}

  /** What is wanted after the tokens from `start` up to `end`. */
  wanted(start: number, end: number): StretchScoring | null {
    const { prompt, promptLogprobs, topPromptLogprobs: topCount = 0, promptTargets } = this.request;
    const alternatives = this.alternatives();
    if (!promptLogprobs && topCount === 0 && !promptTargets && alternatives === null) return null;
    return {
      nextTokens: promptLogprobs ? prompt.slice(start + 1, end + 1) : null,
      topCount,
      targets: promptTargets ? this.targetsOf(promptTargets, start, end) : null,
      alternatives,
    };
  }

  accept({ logprobs, top, targets, alternatives }: StretchScores): void {
    if (logprobs !== null) for (const logprob of logprobs) this.logprobs.push(logprob);
    if (targets !== null) for (const target of targets) this.targets.push(target);
    if (top !== null) this.topStretches.push(top);
    if (alternatives !== null) this.alternativeStretches.push(alternatives);
  }

  result(): Omit<SampleResult, 'sequences'> {
    const { promptLogprobs, topPromptLogprobs = 0, promptTargets, promptAlternatives = 0 } = this.request;
    return {
      promptLogprobs: promptLogprobs === true ? [null, ...this.logprobs] : null,
      ...(topPromptLogprobs > 0 && {
        topPromptLogprobs: joinCells(
          [emptyCells(1, topPromptLogprobs), ...this.topStretches],
          topPromptLogprobs,
        ),
      }),
      ...(promptTargets && {
        promptTargetLogprobs: { ...promptTargets, values: Float32Array.from(this.targets) },
      }),
      ...(promptAlternatives > 0 && {
        promptAlternatives: joinCells(this.alternativeStretches, promptAlternatives),
      }),
    };
  }

  private alternatives(): StretchScoring['alternatives'] {
    const { promptAlternatives: count = 0, params } = this.request;
    if (count === 0) return null;
    return { count, temperature: drawParams(params).temperature, seed: this.seed };
  }

  private targetsOf(
    table: NonNullable<SampleRequest['promptTargets']>,
    start: number,
    end: number,
  ): Int32Array[] {
    return Array.from({ length: end - start }, (_, index) =>
      table.values.slice(rowStartOf(table, start + index), rowStartOf(table, start + index + 1)),
    );
  }
}

/** One after the other; all have rows of `width`. */
export function joinCells(parts: readonly TokenCells[], width: number): TokenCells {
  const count = parts.reduce((sum, { tokens }) => sum + tokens.length, 0);
  const cells = emptyCells(count / width, width);
  let offset = 0;
  for (const { tokens, logprobs } of parts) {
    cells.tokens.set(tokens, offset);
    cells.logprobs.set(logprobs, offset);
    offset += tokens.length;
  }
  return cells;
}
