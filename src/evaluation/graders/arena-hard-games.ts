import type { RowTotal } from './row-grader';
import type { Score } from './grader';

/** What a judgement counts for the evaluated model; null where it holds no label. */
type Battles = { readonly points: number; readonly weight: number } | null;

/**
 * Stored judgements by question, as the official script adds them up: a question of which one game has no readable label counts
 * with neither. Where a file has several judgements of a game, the first of one game belongs to the first of the other.
 */
export class ArenaGames implements RowTotal {
  private readonly questions = new Map<unknown, readonly [first: Battles[], second: Battles[]]>();

  add({ metrics = {}, details = {} }: Pick<Score, 'metrics' | 'details'>): void {
    const games = this.questions.get(details['question_id']) ?? [[], []];
    this.questions.set(details['question_id'], games);
    const { points = 0, weight = 0 } = metrics;
    games[details['game'] === 1 ? 0 : 1].push(weight > 0 ? { points, weight } : null);
  }

  /** `win_rate` is absent where there is nothing to count; `num_unparsed` counts questions that were left out. */
  metrics(): Record<string, number> {
    let [points, weight, unparsed] = [0, 0, 0];
    for (const played of this.pairs()) {
      if (played.includes(null)) unparsed += 1;
      for (const game of played.includes(null) ? [] : played) {
        points += game?.points ?? 0;
        weight += game?.weight ?? 0;
      }
    }
    return { ...(weight > 0 && { win_rate: points / weight }), num_unparsed: unparsed };
  }

  /** The games of a question; one alone where the file has no other. */
  private *pairs(): Generator<Battles[]> {
    for (const [first, second] of this.questions.values()) {
      for (let index = 0; index < Math.max(first.length, second.length); index++)
        yield [...first.slice(index, index + 1), ...second.slice(index, index + 1)];
    }
  }
}
