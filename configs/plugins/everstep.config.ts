// npx everstep train configs/sft-arithmetic.yaml --set plugins=configs/plugins/everstep.config.ts
//
// Graders and evaluators of one's own. Name them in the config (docs/configuration.md):
//
//   evaluators:
//     - { type: custom, name: short-sums, grader: closeEnough, dataset: { path: ../data/arithmetic/test.jsonl } }
//     - { type: plugin, name: habits, evaluator: answerLength, options: { questions: ['1+1=', '20+30='] } }

interface Example {
  readonly id: string;
  /** The last reply of the conversation; null where there is none. */
  readonly target: string | null;
}

interface Client {
  complete(
    messages: readonly { role: string; content: string }[],
    options?: { maxTokens?: number; temperature?: number },
  ): Promise<{ text: string }>;
}

export const graders = {
  /** 1 for the right sum, half for one that is off by one, 0 for anything else. */
  closeEnough(completion: string, { target }: Example): number {
    const difference = Math.abs(Number.parseInt(completion, 10) - Number(target));
    if (difference === 0) return 1;
    return difference === 1 ? 0.5 : 0;
  },
};

export const evaluators = {
  /** How long the model's answers are. Called with the `options` of the config. */
  answerLength: (options: { questions?: readonly string[] }) => ({
    name: 'answerLength',
    kind: 'sampling',
    async evaluate(client: Client): Promise<Record<string, number>> {
      const questions = options.questions ?? ['1+1='];
      const answers = await Promise.all(
        questions.map((content) => client.complete([{ role: 'user', content }], { maxTokens: 16 })),
      );
      const characters = answers.reduce((total, { text }) => total + text.length, 0);
      return { characters: characters / questions.length };
    },
  }),
};
