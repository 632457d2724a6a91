import { chooseIndices, evaluateKind } from '../../../../src/evaluation/kinds/evaluate-kind';
import type { Reduction } from '../../../../src/evaluation/kinds/evaluate-kind';
import { generation } from '../../../../src/evaluation/kinds/generation';
import type { GenerationTask } from '../../../../src/evaluation/kinds/generation';
import { perplexity } from '../../../../src/evaluation/kinds/perplexity';
import { teacherForced } from '../../../../src/evaluation/kinds/teacher-forced';
import { toyJournal, toySite, toyTokenizer } from './toy-model';

const { signal } = new AbortController();
const data = { rows: () => [] };

function texts(...all: readonly string[]) {
  return all.map((text) => ({ text }));
}

function echo(changes: Partial<GenerationTask> = {}) {
  return generation({
    name: 'echo',
    data,
    maxNewTokens: 4,
    get: ({ text }) => ({ prompt: [{ role: 'user', content: String(text) }], gold: String(text) }),
    ...changes,
  });
}

describe('generation', () => {
  test('judges only what the model wrote, without its stop', async () => {
    const site = toySite({ writes: (prompt) => `${/user: (.*)\n/.exec(prompt)?.[1]}.` });

    const { value, intermediates } = await evaluateKind(site, echo(), {
      rows: texts('yes'),
      reduce: 'mean',
      signal,
    });

    expect(value).toBe(1);
    const { tokens = [], mask = [] } = intermediates[0] ?? {};
    expect(toyTokenizer.decode(tokens.filter((_, index) => mask[index]))).toBe('yes.');
    expect(intermediates[0]?.logprobs).toEqual([-0.5, -0.5, -0.5, -0.5]);
  });

  test('samples of a prompt stand together, in the order of the prompts, each with a seed of its own', async () => {
    const site = toySite({ writes: (prompt) => (prompt.includes('one') ? 'one' : 'no') });

    const { perExample } = await evaluateKind(site, echo({ samplesPerPrompt: 2, temperature: 1 }), {
      rows: texts('one', 'two'),
      reduce: 'none',
      signal,
    });

    expect(perExample).toEqual([1, 1, 0, 0]);
    expect(new Set(site.sampler.requests.map(({ params }) => params.seed)).size).toBe(4);
  });

  test('uses clean, check and score of the task', async () => {
    const site = toySite({ writes: () => ' YES' });
    const lower = { clean: (text: string) => text.trim().toLowerCase() };
    const run = (changes: Partial<GenerationTask>) =>
      evaluateKind(site, echo(changes), { rows: texts('yes'), reduce: 'mean', signal });

    expect((await run({})).value).toBe(0);
    expect((await run(lower)).value).toBe(1);
    expect((await run({ ...lower, check: () => false })).value).toBe(0);
    expect((await run({ ...lower, check: () => false, score: () => 0.25 })).value).toBe(0.25);
  });

  test('a prompt that leaves no room counts as every one of its samples', async () => {
    const site = toySite({ writes: () => 'yes' }, 20);

    const result = await evaluateKind(site, echo({ samplesPerPrompt: 2 }), {
      rows: texts('yes', 'much too long for it'),
      reduce: 'mean',
      signal,
    });

    expect(result.perExample).toEqual([1, 1, null, null]);
    expect(result.value).toBe(0.5);
    expect(result.intermediates).toHaveLength(4);
  });

  test('refuses a length that leaves no room for any prompt, and a task without a length', async () => {
    const site = toySite({}, 4);

    await expect(evaluateKind(site, echo(), { rows: texts('x'), reduce: 'mean', signal })).rejects.toThrow(
      /maxNewTokens 4 leaves no room for a prompt in a context of 4/,
    );
    expect(() => echo({ maxNewTokens: 0 })).toThrow(/maxNewTokens is 0/);
  });

  test('asks bare text as it is', async () => {
    const site = toySite({ writes: (prompt) => (prompt === '2+2=' ? '4' : '?') });
    const sums = echo({ get: () => ({ prompt: '2+2=', gold: '4' }) });

    expect((await evaluateKind(site, sums, { rows: [{}], reduce: 'sum', signal })).value).toBe(1);
  });
});

describe('teacherForced', () => {
  const lastToken = teacherForced({
    name: 'last',
    data,
    get: ({ text }) => String(text),
    check: (input, predicted) => input.at(-1) === predicted.at(-1),
  });

  test('compares what the model expects at each place with what stands there', async () => {
    const site = toySite({ expects: (before) => (before.endsWith('c') ? 'd' : 'x') });

    const { perExample, intermediates } = await evaluateKind(site, lastToken, {
      rows: texts('bcd', 'bce'),
      reduce: 'none',
      signal,
    });

    expect(perExample).toEqual([1, 0]);
    expect(intermediates[0]?.mask).toEqual([false, true, true]);
  });

  test('gives the task the predictions from the second token on', async () => {
    const site = toySite({ expects: (before) => String(before.length) });
    const seen: string[][] = [];
    const kind = teacherForced({
      name: 'seen',
      data,
      get: ({ text }) => String(text),
      check: (input, predicted) => seen.push([input, predicted]) > 0,
    });

    await evaluateKind(site, kind, { rows: texts('wxyz'), reduce: 'mean', signal });

    expect(seen).toEqual([['xyz', '123']]);
  });
});

describe('perplexity', () => {
  const kind = perplexity({ name: 'toy_ppl', data, get: ({ text }) => String(text) });
  // The first token is unpredictable: were it counted, every value below would change.
  const model = {
    logprob: (before: string, token: string) => (before === '' ? -99 : token === 'b' ? -2 : -1),
  };

  test.each<[Reduction, number | null]>([
    ['mean', Math.exp((1 + 1 + 1 + 2) / 4)],
    ['sum', Math.exp((1 + 1 + 1 + 2) / 4)],
    ['none', null],
  ])('by %s it is that of all tokens together, not the mean of texts', async (reduce, value) => {
    const { value: got, perExample } = await evaluateKind(toySite(model), kind, {
      rows: texts('xxxx', 'xb'),
      reduce,
      signal,
    });

    if (value === null) expect(got).toBeNull();
    else expect(got).toBeCloseTo(value, 12);
    expect(perExample.map((each) => Number(each?.toFixed(6)))).toEqual([2.718282, 7.389056]);
  });

  test('says that lower is better', async () => {
    const { higherIsBetter, metric } = await evaluateKind(toySite(model), kind, {
      rows: texts('xx'),
      reduce: 'mean',
      signal,
    });

    expect({ higherIsBetter, metric }).toEqual({ higherIsBetter: false, metric: 'perplexity' });
  });

  test('texts of one token have no value and do not count; long ones lose their end', async () => {
    const site = toySite(model, 4);

    const { value, perExample } = await evaluateKind(site, kind, {
      rows: texts('x', 'xxxbbbbbb'),
      reduce: 'mean',
      signal,
    });

    expect(perExample).toEqual([null, Math.E]);
    expect(value).toBe(Math.E);
    expect(site.sampler.requests.map(({ prompt }) => prompt.length)).toEqual([3]);
  });
});

describe('evaluateKind', () => {
  const kind = perplexity({ name: 'toy_ppl', data, get: ({ text }) => String(text) });
  const rows = texts('xy', 'xyz', 'zz');

  test('asks the rows of the indices, in their order', async () => {
    const { perExample, intermediates } = await evaluateKind(toySite({}), kind, {
      rows,
      indices: [2, 0],
      reduce: 'none',
      signal,
    });

    expect(perExample).toHaveLength(2);
    expect(intermediates.map((each) => toyTokenizer.decode(each?.tokens ?? []))).toEqual(['zz', 'xy']);
  });

  test('a second attempt asks only for what is missing', async () => {
    const journal = toyJournal();
    const options = { rows, reduce: 'mean', signal, journal, concurrency: 1 } as const;
    let left = 2;
    const site = toySite({});
    const dying = {
      ...site,
      sampler: {
        sample: (...given: Parameters<typeof site.sampler.sample>) =>
          left-- > 0 ? site.sampler.sample(...given) : Promise.reject(new Error('killed')),
      },
    };

    await expect(evaluateKind(dying, kind, options)).rejects.toThrow('killed');
    const again = toySite({});
    const resumed = await evaluateKind(again, kind, options);

    expect(again.sampler.requests).toHaveLength(1);
    expect(resumed).toEqual(await evaluateKind(toySite({}), kind, { rows, reduce: 'mean', signal }));
  });

  test('a finished one gives its stored result and asks nothing', async () => {
    const journal = toyJournal();
    const first = await evaluateKind(toySite({}), kind, { rows, reduce: 'mean', signal, journal });
    const later = toySite({ logprob: () => -9 });

    expect(await evaluateKind(later, kind, { rows, reduce: 'mean', signal, journal })).toEqual(first);
    expect(later.sampler.requests).toEqual([]);
  });

  test('answers of other weights are not used', async () => {
    const journal = toyJournal();
    const options = { rows, reduce: 'mean', signal, journal } as const;
    const first = await evaluateKind(toySite({}), kind, { ...options, identity: 'one' });
    const other = await evaluateKind(toySite({ logprob: () => -3 }), kind, { ...options, identity: 'two' });

    expect(first.value).toBeCloseTo(Math.E, 12);
    expect(other.value).toBeCloseTo(Math.exp(3), 12);
  });

  test('refuses another word for reduce, rows that are not there, and a task without examples', async () => {
    const site = toySite({});
    const options = { rows, reduce: 'mean', signal } as const;

    await expect(evaluateKind(site, kind, { ...options, reduce: 'median' as 'mean' })).rejects.toThrow(
      /unknown word "median"/,
    );
    await expect(evaluateKind(site, kind, { ...options, indices: [3] })).rejects.toThrow(/has no row 3/);
    await expect(evaluateKind(site, kind, { ...options, rows: [] })).rejects.toThrow(/has no examples/);
  });

  test('refuses an engine that does not score prompts', async () => {
    const site = toySite({});
    const silent = {
      ...site,
      sampler: {
        sample: async (...given: Parameters<typeof site.sampler.sample>) => ({
          ...(await site.sampler.sample(...given)),
          promptLogprobs: null,
        }),
      },
    };

    await expect(evaluateKind(silent, kind, { rows, reduce: 'mean', signal })).rejects.toThrow(
      /gave no prompt log-probs for 2 tokens/,
    );
  });
});

test('a sample of the rows is the same for every checkpoint, and differs by task', () => {
  const chosen = chooseIndices('blimp', 1000, 20);

  expect(chooseIndices('blimp', 1000, 20)).toEqual(chosen);
  expect(chooseIndices('squad', 1000, 20)).not.toEqual(chosen);
  expect(new Set(chosen).size).toBe(20);
  expect(chooseIndices('blimp', 3)).toEqual([0, 1, 2]);
});
