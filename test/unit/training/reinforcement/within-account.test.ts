import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { exhaustedLimit, NO_BUDGET, spendingOf, tokensAtMost } from '../../../../src/core/controls/budget';
import type { Sampler } from '../../../../src/core/sampling';
import type { SampledShard } from '../../../../src/training/reinforcement/sampled-shard';
import type { Accounted } from '../../../../src/training/reinforcement/within-account';
import { withinAccount } from '../../../../src/training/reinforcement/within-account';

/** A dollar a token of a prompt, two a token that is drawn. */
const prices = { prefill: 1e6, sampling: 2e6 };
const DONE: SampledShard = { skippedGroupCount: 0, seconds: 1 };

/** Two tokens for three. */
const drawing: Sampler = {
  sample: () =>
    Promise.resolve({
      sequences: [{ tokens: [1, 2], logprobs: null, stopReason: 'stop' as const }],
      promptLogprobs: null,
    }),
};
/** Its worker dies while it draws. */
const dying: Sampler = { sample: () => Promise.reject(new Error('the worker is gone')) };

const request = {
  prompt: [1, 2, 3],
  numSamples: 1,
  params: { maxTokens: 5, temperature: 0, topK: -1, topP: 1 },
};

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'everstep-account-'));
});

afterEach(() => {
  rmSync(folder, { recursive: true, force: true });
});

interface Attempt {
  readonly epoch: number;
  readonly dollars: number | null;
}

function attempt({ epoch, dollars }: Attempt, sample: (accounted: Accounted) => Promise<SampledShard>) {
  const { signal } = new AbortController();
  const account = { prices, dollars, write: 1 };
  return withinAccount({ folder, firstGroup: 0, account, epoch, signal }, sample);
}

test('all that a shard draws is told, of attempts that died as well', async () => {
  const died = attempt({ epoch: 1, dollars: null }, async ({ limit }) => {
    await limit(drawing).sample(request);
    await limit(dying).sample(request);
    return DONE;
  });
  await expect(died).rejects.toThrow('the worker is gone');

  const shard = await attempt({ epoch: 2, dollars: null }, async ({ limit }) => {
    await limit(drawing).sample(request);
    return DONE;
  });

  // Of the one that nobody got, all that it may have drawn.
  expect(shard).toEqual({ ...DONE, spent: { prompt: 9, sampled: 2 + 5 + 2 } });
});

test('a shard that would cost more than it may ends with what it drew, and its signal fires', async () => {
  const signals: AbortSignal[] = [];

  // A request costs 13 at most, and 7 in truth.
  const shard = await attempt({ epoch: 1, dollars: 26 }, async ({ limit, signal }) => {
    signals.push(signal);
    for (;;) await limit(drawing).sample(request);
  });

  expect(shard).toMatchObject({ isOverBudget: true, spent: { prompt: 6, sampled: 4 } });
  expect(signals.map(({ aborted }) => aborted)).toEqual([true]);
});

test('where no prices are known, nothing is counted', async () => {
  const { signal } = new AbortController();

  const shard = await withinAccount(
    { folder, firstGroup: 0, account: undefined, epoch: 1, signal },
    async ({ limit }) => {
      expect(limit(drawing)).toBe(drawing);
      return Promise.resolve(DONE);
    },
  );

  expect(shard).toEqual(DONE);
});

test('what was drawn takes from the dollars that training may use', () => {
  const budget = { ...NO_BUDGET, dollars: 100, dollarsPerMillionTokens: 1e6 };
  const usage = {
    tokens: 30,
    tokensOfRewinds: 0,
    stepsDone: 1,
    stepsUnderWay: 0,
    seconds: 1,
    tokensUnderWay: 0,
  };

  expect(spendingOf({ ...usage, samplingDollars: 50 }, budget).dollars).toBe(80);
  expect(tokensAtMost(budget, 50)).toBe(50);
  expect(exhaustedLimit({ ...usage, samplingDollars: 70 }, budget)).toBe(
    'the budget is used up: $100.00 of $100',
  );
  expect(exhaustedLimit({ ...usage, samplingDollars: 50, isSamplingOut: true }, budget)).toBe(
    'the next step would not fit the budget: $80.00 of $100 used',
  );
});
