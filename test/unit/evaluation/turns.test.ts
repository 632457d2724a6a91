import { setImmediate as nextRound } from 'node:timers/promises';
import type { SampleResult } from '../../../src/core/sampling';
import { samplerInTurns, Turns } from '../../../src/evaluation/turns';

const REQUEST = { prompt: [1], numSamples: 1, params: { maxTokens: 1, temperature: 0, topK: -1, topP: 1 } };
const ANSWER: SampleResult = { sequences: [], promptLogprobs: null };

test('gives one turn in each round of the event loop, in the order they were asked for', async () => {
  const turns = new Turns();
  const taken: number[] = [];
  const all = [0, 1, 2, 3].map((index) => turns.next().then(() => taken.push(index)));

  const seen: number[] = [];
  for (let round = 0; round < 5; round++) {
    await nextRound();
    seen.push(taken.length);
  }

  await Promise.all(all);
  expect(taken).toEqual([0, 1, 2, 3]);
  expect(seen.every((count, round) => count <= round + 1)).toBe(true);
});

test('sends dozens of requests that are ready at once one a round, and hands answers on at once', async () => {
  let sent = 0;
  const sampler = samplerInTurns({
    async sample() {
      sent += 1;
      return ANSWER;
    },
  });
  let answered = 0;
  const all = Array.from({ length: 20 }, () => sampler.sample(REQUEST).then(() => (answered += 1)));

  await nextRound();
  expect(sent).toBeLessThanOrEqual(2);
  expect(answered).toBe(sent);
  await Promise.all(all);

  expect(sent).toBe(20);
});
