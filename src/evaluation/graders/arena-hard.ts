import { DomainError } from '../../core/errors';
import { ownValue } from '../../core/own-value';
import { textField } from './row-fields';
import { ArenaGames } from './arena-hard-games';
import type { Score } from './grader';
import type { Row, RowGrader } from './row-grader';

/** What a verdict says of assistant A: the points of each of its battles. Strong ones count as three. */
interface Verdict {
  readonly label: string;
  readonly pointsOfA: 0 | 0.5 | 1;
  readonly weight: number;
}

/** The evaluated model is B in game 1 and A in game 2. */
export type Game = 1 | 2;

const STRONG = 3;
/** The double bracket goes before the single one, and the last of either kind counts. */
const PATTERNS = [/\[\[([AB<>=]+)\]\]/g, /\[([AB<>=]+)\]/g];
const POINTS: Readonly<Record<string, readonly [points: 0 | 0.5 | 1, weight: number]>> = {
  'A>>B': [1, STRONG],
  'A>B': [1, 1],
  'A=B': [0.5, 1],
  'A<B': [0, 1],
  'A<<B': [0, STRONG],
  'B>>A': [0, STRONG],
  'B>A': [0, 1],
  'B=A': [0.5, 1],
  'B<A': [1, 1],
  'B<<A': [1, STRONG],
};

/** The official reading of a judge's words; null where they hold no label, or one that says nothing. */
export function readArenaVerdict(judgement: string): Verdict | null {
  const text = judgement.toUpperCase();
  for (const pattern of PATTERNS) {
    const label = [...text.matchAll(pattern)].at(-1)?.[1];
    if (label === undefined) continue;
    const known = ownValue(POINTS, label);
    return known ? { label, pointsOfA: known[0], weight: known[1] } : null;
  }
  return null;
}

/** Points of the evaluated model. */
export function pointsInGame({ pointsOfA }: Verdict, game: Game): number {
  return game === 2 ? pointsOfA : 1 - pointsOfA;
}

/** Stored judgements, one game a line. */
export const arenaHardRows: RowGrader = {
  name: 'arena_hard',
  version: 'arena_hard@1',
  description:
    'question_id (or uid) and game (1: the evaluated model is B, 2: it is A); the response is the judge’s text. The score is the evaluated model’s',
  grade(judgement, row) {
    const question_id = textField(row, ['question_id', 'uid']);
    const game = gameOf(row);
    return { ...scoreOf(readArenaVerdict(judgement), game), details: { question_id, game } };
  },
  summarize: ({ unparsed = 0 }) => ({ unparsed }),
  startTotal: () => new ArenaGames(),
};

function scoreOf(verdict: Verdict | null, game: Game): Score {
  if (!verdict) return { value: 0, answer: null, metrics: { unparsed: 1, points: 0, weight: 0 } };
  const { label, weight } = verdict;
  const value = pointsInGame(verdict, game);
  return { value, answer: label, metrics: { unparsed: 0, points: value * weight, weight } };
}

function gameOf({ game }: Row): Game {
  if (game === 1 || game === 2) return game;
  throw new DomainError(
    'bad-dataset',
    `example: "game" is ${game === undefined ? 'missing' : JSON.stringify(game)}. Give 1 where the evaluated model is assistant B, 2 where it is A.`,
  );
}
