import { z } from 'zod';
import { defineTool } from '../src/training/environments/tools/tool';

/** Environments of bench/reinforcement.ts: four turns with a tool each, and three that misbehave. */

const TURNS = 4;
const FOUND = 'x'.repeat(400);

const look = defineTool({
  name: 'look',
  description: 'Looks something up',
  parameters: z.object({ turn: z.int() }),
  run: ({ turn }) => `${turn}: ${FOUND}`,
});

interface Problem {
  readonly number: number;
}

const never = () => new Promise<never>(() => undefined);
const context = { signal: new AbortController().signal };

/** What the policy writes is noise, so every reply counts as a call. */
function workshop(number: number) {
  let turn = 0;
  return {
    judgesCutReplies: true,
    initialObservation: () => ({ messages: [{ role: 'user', content: `Look around (${number}).` }] }),
    async step() {
      turn += 1;
      if (turn === 2 && number === 1) throw new Error('out of order');
      if (turn === 2 && number === 2) return never();
      if (turn === 2 && number === 3) return { reward: 'much', isDone: false };
      if (turn === TURNS) return { reward: number % 2, isDone: true, nextMessages: [] };
      const { content } = await look.call(JSON.stringify({ turn }), context);
      return { reward: 0, isDone: false, nextMessages: [{ role: 'user', content }] };
    },
  };
}

export const environments = {
  /** Of each group's members one: the others of the three bad groups play on. */
  workshop: ({ count = 64 }: { readonly count?: number }) => ({
    problems: () => Array.from({ length: count }, (_, number) => ({ number })),
    testProblems: [],
    make: ({ number }: Problem, member: number) =>
      workshop(number <= 3 && member > 0 ? 100 + member : number),
  }),
};
