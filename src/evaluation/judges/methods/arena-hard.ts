import { DomainError } from '../../../core/errors';
import { groupKey } from '../../benchmarks/questions/scored-by-group';
import type { Example } from '../../example';
import type { Game } from '../../graders/arena-hard';
import { pointsInGame, readArenaVerdict } from '../../graders/arena-hard';
import { BATTLES, totalOfBattles } from '../../graders/arena-hard-total';
import type { JudgeDesk, JudgeMethod, Score, Vote } from '../../graders/grader';
import { conversationText } from '../conversation-text';
import { UNPARSED } from '../parsed-total';
import { loadTemplate, messagesOf, stampOf } from '../template';

export interface ArenaHardOptions {
  readonly name: string;
  /** Of a judgement, as officially asked. */
  readonly maxTokens: number;
}

interface PlayedGame {
  readonly game: Game;
  readonly reply: string;
  readonly label: string | null;
  readonly points: number;
  readonly weight: number;
}

const GAMES: readonly Game[] = [1, 2];
const CREATIVE = 'creative_writing';

/** The official protocol of Arena-Hard: answer and baseline in both orders, five labels, strong verdicts three times. */
export function arenaHardMethod({ name, maxTokens }: ArenaHardOptions): JudgeMethod {
  const usual = loadTemplate('arena_hard');
  const creative = loadTemplate('arena_hard_creative');
  return {
    name,
    version: [`${name}@1`, stampOf(usual), stampOf(creative)].join(' '),
    async vote(desk, completion, example) {
      const games = await Promise.all(GAMES.map((game) => play(desk, { game, completion, example })));
      return voteOf(games, groupOf(name, example));
    },
    combine: poolBattles,
    total: totalOfBattles,
  };

  async function play(
    desk: JudgeDesk,
    { game, completion, example }: { game: Game; completion: string; example: Example },
  ): Promise<PlayedGame> {
    const baseline = baselineOf(example);
    const [answerA, answerB] = game === 1 ? [baseline, completion] : [completion, baseline];
    const template = example.row?.['category'] === CREATIVE ? creative : usual;
    const texts = {
      question: conversationText(example),
      answer_a: answerA,
      answer_b: answerB,
    };
    const reply = await desk.ask({
      stage: `game-${game}`,
      messages: messagesOf(template, texts),
      maxTokens,
    });
    const verdict = readArenaVerdict(reply);
    if (!verdict) return { game, reply, label: null, points: 0, weight: 0 };
    return { game, reply, label: verdict.label, points: pointsInGame(verdict, game), weight: verdict.weight };
  }
}

/** Officially a question counts with both of its games or not at all. */
function voteOf(games: readonly PlayedGame[], group: string | null): Vote {
  const explanation = games.map(({ reply }) => reply).join('\n\n');
  const labels = games.flatMap(({ label }) => label ?? []);
  if (labels.length < games.length) return { answer: null, value: 0, explanation };
  const weight = games.reduce((total, game) => total + game.weight, 0);
  const points = games.reduce((total, game) => total + game.points * game.weight, 0);
  const value = points / weight;
  return {
    answer: labels.join(' '),
    value,
    metrics: {
      [BATTLES.points]: points,
      [BATTLES.weight]: weight,
      ...Object.fromEntries(
        games.flatMap((game) => [
          [`game_${game.game}`, game.points],
          [`game_${game.game}_weight`, game.weight],
        ]),
      ),
      ...(group !== null && { [group]: value }),
    },
    explanation,
  };
}

/** Several judges: the battles of all of them, as officially. */
function poolBattles(votes: readonly Vote[]): Score {
  const explanation = votes.map((vote) => vote.explanation).join('\n\n');
  const read = votes.filter(({ answer }) => answer !== null);
  const [only] = read;
  if (!only) return { value: 0, answer: null, metrics: { [UNPARSED]: 1 }, explanation };
  if (read.length === 1) return { ...only, metrics: { ...only.metrics, [UNPARSED]: 0 }, explanation };
  const sum = (name: string) => read.reduce((total, { metrics }) => total + (metrics?.[name] ?? 0), 0);
  const [points, weight] = [sum(BATTLES.points), sum(BATTLES.weight)];
  const pooled = BATTLES.games.flatMap((game) => {
    const gameWeight = sum(`${game}_weight`);
    const gamePoints = read.reduce(
      (total, { metrics }) => total + (metrics?.[game] ?? 0) * (metrics?.[`${game}_weight`] ?? 0),
      0,
    );
    return [[game, gamePoints / gameWeight] as const, [`${game}_weight`, gameWeight] as const];
  });
  const groups = Object.keys(only.metrics ?? {}).filter((name) => name.includes('/'));
  return {
    value: points / weight,
    answer: read.map(({ answer }) => answer).join(' | '),
    metrics: {
      [BATTLES.points]: points,
      [BATTLES.weight]: weight,
      ...Object.fromEntries(pooled),
      ...Object.fromEntries(groups.map((group) => [group, points / weight])),
      [UNPARSED]: 0,
    },
    explanation,
  };
}

function groupOf(name: string, { row }: Example): string | null {
  const category = row?.['category'];
  return typeof category === 'string' && category !== '' ? `${name}/${groupKey(category)}` : null;
}

function baselineOf({ id, row }: Example): string {
  const answer = row?.['baseline_answer'];
  if (typeof answer === 'string') return answer;
  throw new DomainError('bad-dataset', `Example "${id}" has no "baseline_answer" to be compared with.`, {
    category: 'user',
  });
}
