import { largestOf } from '../../core/extremes';
import { meanOf } from '../../core/statistics/mean';
import type { Score, Vote } from '../graders/grader';
import { UNPARSED } from './parsed-total';

/**
 * One score from the votes of several judges: the answer most of them gave. Where two answers have as many votes, the
 * score is the mean of theirs. Votes that cannot be read are left out; where none can be, the score is unparsed.
 */
export function majorityOf(votes: readonly Vote[]): Score {
  const read = votes.filter(({ answer }) => answer !== null);
  if (read.length === 0) return { ...told(votes), value: 0, answer: null, metrics: { [UNPARSED]: 1 } };
  const winners = mostGiven(read);
  const value = meanOf(winners.map((vote) => vote.value))?.mean ?? 0;
  const agreeing = read.filter(({ answer }) => winners.some((winner) => winner.answer === answer)).length;
  return {
    ...told(votes),
    value,
    answer: winners.map(({ answer }) => answer).join(' or '),
    metrics: {
      ...meansOf(read),
      [UNPARSED]: 0,
      ...(votes.length > 1 && { judge_agreement: agreeing / winners.length / read.length }),
    },
  };
}

/** For ratings, which few judges give alike: the middle one. */
export function medianOf(votes: readonly Vote[]): Score {
  const read = votes.filter(({ answer }) => answer !== null).sort((left, right) => left.value - right.value);
  const low = read[Math.floor((read.length - 1) / 2)];
  const high = read[Math.floor(read.length / 2)];
  if (!low || !high) return majorityOf(votes);
  return {
    ...told(votes),
    value: (low.value + high.value) / 2,
    answer: low.answer === high.answer ? low.answer : `${low.answer ?? ''} to ${high.answer ?? ''}`,
    metrics: { ...meansOf(read), [UNPARSED]: 0 },
  };
}

/** One vote of each of the answers that were given most often. */
function mostGiven(votes: readonly Vote[]): Vote[] {
  const counts = new Map<string | null, { readonly vote: Vote; count: number }>();
  for (const vote of votes) {
    const known = counts.get(vote.answer) ?? { vote, count: 0 };
    known.count += 1;
    counts.set(vote.answer, known);
  }
  const most = largestOf([...counts.values()].map(({ count }) => count));
  return [...counts.values()].filter(({ count }) => count === most).map(({ vote }) => vote);
}

function meansOf(votes: readonly Vote[]): Record<string, number> {
  const names = new Set(votes.flatMap(({ metrics }) => Object.keys(metrics ?? {})));
  const means: Record<string, number> = {};
  for (const name of names) {
    const mean = meanOf(votes.flatMap(({ metrics }) => metrics?.[name] ?? []));
    if (mean) means[name] = mean.mean;
  }
  return means;
}

function told(votes: readonly Vote[]): Pick<Score, 'explanation' | 'details'> {
  return {
    explanation: votes.map(({ explanation }) => explanation).join('\n\n'),
    ...(votes.length > 1 && { details: { votes: votes.map(({ answer }) => answer) } }),
  };
}
