// npx everstep eval additions --plugins examples/python-worker/everstep.config.ts --engine URL --model everstep/tiny

/** Rows made here, answers judged by `same_number` of worker.py. */
const additions = {
  data: {
    rows: () => Array.from({ length: 100 }, (_, index) => ({ left: index, right: (index * 7) % 100 })),
  },
  toExample: ({ left, right }: { left: number; right: number }) => ({
    prompt: `${left}+${right}=`,
    target: String(left + right),
  }),
  grader: { python: 'same_number' },
  generation: { maxTokens: 8, temperature: 0 },
};

export const benchmarks = { additions };
