import type { Message } from '../../../core/conversation';
import type { Example } from '../../example';
import type { JudgeDesk, JudgeMethod, Vote } from '../../graders/grader';
import { conversationText } from '../conversation-text';
import { neutralize } from '../neutralize';
import type { PairLabel } from '../read-verdicts';
import { readPairLabel, readPreference } from '../read-verdicts';
import { loadTemplate, messagesOf, stampOf } from '../template';

/** The answer that a completion is compared with. */
export interface Opponent {
  /** Part of the version: what the opponent is. */
  readonly stamp: string;
  answerFor(desk: JudgeDesk, example: Example): Promise<string>;
}

export interface PairwiseOptions {
  readonly opponent: Opponent;
  /** `judge`: any model, asked in words. `preference`: a model trained to say A, B or Tie as its one next token. */
  readonly by: 'judge' | 'preference';
}

interface Pair {
  readonly example: Example;
  readonly answerA: string;
  readonly answerB: string;
}

interface GamePlan {
  readonly stampOf: string;
  readonly maxTokens: number;
  readonly request: (pair: Pair) => Message[];
  readonly read: (reply: string) => PairLabel | null;
}

const MAX_TOKENS = 4096;
const MARKERS = {
  answerA: '==== Completion A ====',
  answerB: '==== Completion B ====',
  verdict: '==== Preference ====',
};

/**
 * Completion against opponent, judged in both orders: in game 1 the completion is B, in game 2 it is A. The value is the mean
 * of both, so that a verdict which follows the order is a tie. Where one of them cannot be read there is none.
 */
export function pairwise({ opponent, by }: PairwiseOptions): JudgeMethod {
  const plan = by === 'judge' ? judgePlan() : PREFERENCE_PLAN;
  return {
    name: by === 'judge' ? 'pairwise' : 'preference',
    version: `${plan.stampOf} against ${opponent.stamp}`,
    async vote(desk, completion, example) {
      const other = await opponent.answerFor(desk, example);
      const first = await play(desk, plan, {
        stage: 'game-1',
        pair: { example, answerA: other, answerB: completion },
      });
      const second = await play(desk, plan, {
        stage: 'game-2',
        pair: { example, answerA: completion, answerB: other },
      });
      return voteOf(first, second);
    },
  };
}

interface Game {
  readonly reply: string;
  readonly label: PairLabel | null;
}

async function play(
  desk: JudgeDesk,
  { request, read, maxTokens }: GamePlan,
  { stage, pair }: { readonly stage: string; readonly pair: Pair },
): Promise<Game> {
  const reply = await desk.ask({ stage, messages: request(pair), maxTokens });
  return { reply, label: read(reply) };
}

function voteOf(first: Game, second: Game): Vote {
  const explanation = `${first.reply}\n\n${second.reply}`;
  if (first.label === null || second.label === null) return { answer: null, value: 0, explanation };
  const value = (pointsOf(first.label, 'B') + pointsOf(second.label, 'A')) / 2;
  const isFlip = first.label === second.label && first.label !== 'tie';
  return {
    answer: answerOf(value),
    value,
    metrics: {
      flipped: Number(isFlip),
      prefers_first: (Number(first.label === 'A') + Number(second.label === 'A')) / 2,
    },
    explanation,
  };
}

/** For the side that the completion is on. */
function pointsOf(label: PairLabel, side: 'A' | 'B'): number {
  if (label === 'tie') return 0.5;
  return label === side ? 1 : 0;
}

function answerOf(value: number): string {
  if (value === 0.5) return 'tie';
  return value > 0.5 ? 'win' : 'loss';
}

function judgePlan(): GamePlan {
  const template = loadTemplate('pairwise');
  return {
    stampOf: stampOf(template),
    maxTokens: MAX_TOKENS,
    request: ({ example, answerA, answerB }) =>
      messagesOf(template, {
        question: conversationText(example),
        answer_a: answerA,
        answer_b: answerB,
      }),
    read: readPairLabel,
  };
}

/** As tinker-cookbook renders comparisons: parts told apart by system messages, and one token for the verdict. */
const PREFERENCE_PLAN: GamePlan = {
  stampOf: 'preference@1',
  maxTokens: 1,
  request: ({ example, answerA, answerB }) => [
    ...example.messages,
    { role: 'system', content: MARKERS.answerA },
    { role: 'assistant', content: withoutMarkers(answerA) },
    { role: 'system', content: MARKERS.answerB },
    { role: 'assistant', content: withoutMarkers(answerB) },
    { role: 'system', content: MARKERS.verdict },
  ],
  read: readPreference,
};

function withoutMarkers(text: string): string {
  return neutralize(text, { delimiters: Object.values(MARKERS), verdicts: [] });
}
