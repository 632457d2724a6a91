import type { SampleRequest, SampleResult, Sampler } from '../../../../src/core/sampling';
import { DomainError } from '../../../../src/core/errors';
import type { CallRow } from '../../../../src/evaluation/inspect/run/journalled-sampler';
import { JournalledSampler } from '../../../../src/evaluation/inspect/run/journalled-sampler';

const REQUEST: SampleRequest = {
  prompt: [1, 2, 3],
  numSamples: 1,
  params: { maxTokens: 4, temperature: 1, topK: -1, topP: 1 },
};

function answer(token: number): SampleResult {
  return { sequences: [{ tokens: [token], logprobs: [0], stopReason: 'stop' }], promptLogprobs: null };
}

function memoryJournal(rows = new Map<string, CallRow>()) {
  return {
    rows,
    get: (key: string | number) => rows.get(String(key)),
    appendWhenRoom: (row: CallRow) => {
      const text = JSON.stringify(row);
      // As a file would give it back.
      const stored: unknown = JSON.parse(text);
      rows.set(row.key, stored as CallRow);
      return Promise.resolve(true);
    },
    verify: () => undefined,
  };
}

function over(sampler: Sampler, journal = memoryJournal()) {
  const failures: DomainError[] = [];
  const journalled = new JournalledSampler({
    ...{ sampler, journal, identity: 'run/3/0', signal: new AbortController().signal },
    onAnswer: () => undefined,
    onFailure: (error) => failures.push(error),
  });
  return { journalled, journal, failures };
}

test('the same request asked twice is two draws, and asked again in a new attempt finds both', async () => {
  let drawn = 0;
  const counting: Sampler = { sample: () => Promise.resolve(answer(++drawn)) };
  const { journalled, journal } = over(counting);
  const first = [await journalled.sample(REQUEST), await journalled.sample(REQUEST)];

  const again = over(counting, journal);
  const second = [await again.journalled.sample(REQUEST), await again.journalled.sample(REQUEST)];

  expect(drawn).toBe(2);
  expect(second).toEqual(first);
});

test('a draw that failed gives its number back, so that no journalled answer is passed over', async () => {
  let calls = 0;
  const flaky: Sampler = {
    sample: () => (++calls === 1 ? Promise.reject(new Error('gone')) : Promise.resolve(answer(calls))),
  };
  const { journalled, journal } = over(flaky);
  await expect(journalled.sample(REQUEST)).rejects.toThrow('gone');

  await journalled.sample(REQUEST);
  const again = over(flaky, journal);
  await again.journalled.sample(REQUEST);

  expect(calls).toBe(2);
});

test('a request without a seed gets the same one in every attempt, and another at its second draw', async () => {
  const seeds: unknown[] = [];
  const noting: Sampler = {
    sample: ({ params }) => {
      seeds.push(params.seed);
      return Promise.resolve(answer(1));
    },
  };

  for (let attempt = 0; attempt < 2; attempt++) {
    const { journalled } = over(noting);
    await journalled.sample(REQUEST);
    await journalled.sample(REQUEST);
  }

  expect(seeds.slice(0, 2)).toEqual(seeds.slice(2));
  expect(seeds[0]).not.toBe(seeds[1]);
});

test('the likeliest tokens come back from the journal as they were', async () => {
  const top = { width: 1, tokens: Int32Array.of(7), logprobs: Float32Array.of(-0.5) };
  const [sequence] = answer(7).sequences;
  const withTop: Sampler = {
    sample: () =>
      Promise.resolve({
        sequences: sequence ? [{ ...sequence, topLogprobs: top }] : [],
        promptLogprobs: null,
      }),
  };
  const { journalled, journal } = over(withTop);
  await journalled.sample(REQUEST);

  const result = await over(withTop, journal).journalled.sample(REQUEST);

  expect(result.sequences[0]?.topLogprobs).toEqual(top);
});

test('a service that is away ends the evaluation instead of failing samples', async () => {
  const away: Sampler = { sample: () => Promise.reject(new DomainError('unreachable', 'nobody there')) };
  const { journalled, failures } = over(away);

  await expect(journalled.sample(REQUEST)).rejects.toThrow('nobody there');

  expect(failures.map(({ code }) => code)).toEqual(['unreachable']);
});
