// npx everstep train examples/rl-environment/guess-number.yaml

interface Reply {
  readonly content: string | readonly { readonly text?: string }[];
}

interface Secret {
  readonly number: number;
}

interface Played {
  readonly rollout: { readonly transitions: readonly { readonly reward: number }[] };
}

/** The first whole number of a reply; NaN without one. */
function numberIn({ content }: Reply): number {
  const text = typeof content === 'string' ? content : content.map((part) => part.text ?? '').join('');
  return Number(/\d+/.exec(text)?.[0] ?? NaN);
}

export const environments = {
  /** Several turns: a number from 1 to `highest` is to be found, with a hint after each guess. */
  guess_number: ({ highest = 9, turns = 4 }: { highest?: number; turns?: number }) => ({
    problems: Array.from({ length: highest }, (_, index): Secret => ({ number: index + 1 })),
    tags: () => ['guess_number'],

    make({ number }: Secret) {
      let guessCount = 0;
      return {
        initialObservation: () => ({ messages: [{ role: 'user', content: `number 1-${highest}?` }] }),
        step(reply: Reply) {
          guessCount += 1;
          const guess = numberIn(reply);
          const isFound = guess === number;
          const hint = Number.isNaN(guess) ? 'a number?' : guess < number ? 'more' : 'less';
          return {
            reward: Number(isFound),
            isDone: isFound || guessCount >= turns,
            nextMessages: [{ role: 'user', content: hint }],
            metrics: { correct: Number(isFound), is_number: Number(!Number.isNaN(guess)) },
          };
        },
      };
    },

    /** Judges the rollouts of one secret together: those that needed fewest guesses get a little more. */
    rewards(played: readonly Played[]) {
      const guesses = played.map(({ rollout }) =>
        rollout.transitions.some(({ reward }) => reward > 0) ? rollout.transitions.length : Infinity,
      );
      const fewest = Math.min(...guesses);
      return guesses.map((count) => ({ reward: count === fewest && count < Infinity ? 0.1 : 0 }));
    },
  }),
};
