// npx everstep eval capitals guess_number --plugins examples/custom-benchmark/everstep.config.ts --endpoint URL --model NAME

/** One turn: rows beside this file, and a function that judges. */
const capitals = {
  data: { path: 'capitals.jsonl' },
  toExample: (row: { country: string; capital: string }) => ({
    prompt: `What is the capital of ${row.country}? Answer with its name alone.`,
    target: row.capital,
  }),
  grader: (reply: string, example: { target: string }) => reply.includes(example.target),
  generation: { maxTokens: 32, temperature: 0 },
};

/** Several turns: rows made by code, and an environment that answers until the number is found. */
const guessNumber = ({ turns = 8 }: { turns?: number }) => ({
  data: { rows: () => [17, 54, 91, 28, 65].map((secret) => ({ secret })) },
  toExample: ({ secret }: { secret: number }) => ({
    id: `guess_${secret}`,
    prompt: 'Guess my number, from 1 to 100. Answer with a number alone.',
    target: String(secret),
  }),
  generation: { maxTokens: 16, temperature: 0 },
  environment(example: { messages: readonly object[]; target: string }) {
    let guessCount = 0;
    return {
      initialObservation: () => ({ messages: example.messages }),
      step({ content }: { content: unknown }) {
        const guess = Number(/\d+/.exec(JSON.stringify(content))?.[0]);
        const isFound = guess === Number(example.target);
        const hint = guess < Number(example.target) ? 'Higher.' : 'Lower.';
        const isDone = isFound || ++guessCount >= turns;
        return { reward: Number(isFound), isDone, nextMessages: [{ role: 'user', content: hint }] };
      },
    };
  },
});

export const benchmarks = { capitals, guess_number: guessNumber };
