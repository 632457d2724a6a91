import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DomainError } from '../../../src/core/errors';
import type { EvaluationBudget } from '../../../src/core/schedules/evaluation-schedule';
import type { Sampler } from '../../../src/core/sampling';
import type { SamplingPrices } from '../../../src/core/sampling-cost';
import { EvaluationAllowance } from '../../../src/evaluation/evaluation-budget';

/** Draws two tokens for each request, one request at a time when it is told to. */
class SlowSampler implements Sampler {
  readonly held: (() => void)[] = [];
  count = 0;

  async sample() {
    this.count += 1;
    await new Promise<void>((resolve) => this.held.push(resolve));
    return {
      sequences: [{ tokens: [1, 2], logprobs: null, stopReason: 'stop' as const }],
      promptLogprobs: null,
    };
  }

  async release(): Promise<void> {
    this.held.shift()?.();
    await new Promise((resolve) => setImmediate(resolve));
  }
}

async function until(isReached: () => boolean): Promise<void> {
  while (!isReached()) await new Promise((resolve) => setImmediate(resolve));
}

let folder: string;
const opened: EvaluationAllowance[] = [];

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'everstep-budget-'));
});

afterEach(async () => {
  for (const allowance of opened.splice(0)) await allowance.close();
  rmSync(folder, { recursive: true, force: true });
});

async function open(
  budget: EvaluationBudget,
  { prices = null, epoch = 1 }: { prices?: SamplingPrices | null; epoch?: number } = {},
): Promise<EvaluationAllowance> {
  const allowance = await EvaluationAllowance.open({ folder, epoch }, budget, prices);
  opened.push(allowance);
  return allowance;
}

const request = (maxTokens: number) => ({
  prompt: [1, 2, 3],
  numSamples: 1,
  params: { maxTokens, temperature: 0, topK: -1, topP: 1 },
});

test('what may be needed is reserved, and what was not is given back', async () => {
  const inner = new SlowSampler();
  const allowance = await open({ tokens: 30 });
  const sampler = allowance.limit(inner);

  // 3 + 20 tokens at most, in truth 5: two do not fit side by side, and do one after the other.
  const both = Promise.all([sampler.sample(request(20)), sampler.sample(request(20))]);
  await new Promise((resolve) => setImmediate(resolve));
  const countAtOnce = inner.count;
  await inner.release();
  await inner.release();
  await both;

  expect(countAtOnce).toBe(1);
  expect(inner.count).toBe(2);
  expect(allowance.signal.aborted).toBe(false);
});

test('a request that never fits ends the evaluator with the reason', async () => {
  const inner = new SlowSampler();
  const allowance = await open({ tokens: 30 });
  const sampler = allowance.limit(inner);
  const first = sampler.sample(request(20));
  await new Promise((resolve) => setImmediate(resolve));
  await inner.release();
  await first;

  await expect(sampler.sample(request(40))).rejects.toMatchObject({ code: 'over-budget' });

  expect(String(allowance.signal.reason)).toContain('would not fit its budget: 5 of 30 tokens used');
  await expect(sampler.sample(request(1))).rejects.toMatchObject({ code: 'over-budget' });
});

test('dollars are counted at the prices of prompts and of what is drawn', async () => {
  const prices = { prefill: 1e6, sampling: 2e6 };
  const inner = new SlowSampler();
  const sampler = (await open({ dollars: 8 }, { prices })).limit(inner);
  const first = sampler.sample(request(2));
  await new Promise((resolve) => setImmediate(resolve));
  await inner.release();
  await first;

  // 3·1 + 2·2 = 7 dollars are spent; any other prompt costs 3.
  await expect(sampler.sample(request(1))).rejects.toThrow(/would not fit its budget: \$\S+ of \$8 used/);
});

test('what was under way when its attempt died counts as drawn in full, however often that happens', async () => {
  const inner = new SlowSampler();
  // Of three attempts, each dies with a request of 3 + 5 tokens under way.
  for (const epoch of [1, 2, 3]) {
    const dying = (await open({ tokens: 30 }, { epoch })).limit(inner).sample(request(5));
    dying.catch(() => undefined);
    await until(() => inner.count === epoch);
  }

  const next = await open({ tokens: 30 }, { epoch: 4 });

  await expect(next.limit(inner).sample(request(4))).rejects.toThrow(/24 of 30 tokens used/);
  expect(inner.count).toBe(3);
});

test('a request that the service took no notice of costs nothing, also for the next attempt', async () => {
  const away: Sampler = {
    sample: () => Promise.reject(new DomainError('unreachable', 'away', { retryable: true })),
  };
  const first = await open({ tokens: 12 });
  await expect(first.limit(away).sample(request(5))).rejects.toMatchObject({ code: 'unreachable' });
  const inner = new SlowSampler();

  const next = (await open({ tokens: 12 }, { epoch: 2 })).limit(inner).sample(request(9));
  await until(() => inner.count === 1);
  await inner.release();

  await expect(next).resolves.toMatchObject({ sequences: [{ tokens: [1, 2] }] });
});

test('what an attempt spent that died is spent for the next one too', async () => {
  const inner = new SlowSampler();
  const first = (await open({ tokens: 12 })).limit(inner).sample(request(2));
  await new Promise((resolve) => setImmediate(resolve));
  await inner.release();
  await first;

  const next = await open({ tokens: 12 }, { epoch: 2 });

  // 5 of 12 are spent: 3 + 5 do not fit any more.
  await expect(next.limit(inner).sample(request(5))).rejects.toThrow(/5 of 12 tokens used/);
});

test('what an answer took beyond what was asked for is reserved for those after it, also by the next attempt', async () => {
  const inner = new SlowSampler();
  const first = (await open({ tokens: 40 })).limit(inner).sample(request(1));
  await until(() => inner.count === 1);
  await inner.release();
  await first;
  // Two tokens came where one was asked for: of 40, 5 are spent, and 3 + 2·17 do not fit.
  const next = await open({ tokens: 40 }, { epoch: 2 });

  await expect(next.limit(inner).sample(request(17))).rejects.toThrow(
    /up to 2 times maxTokens, as the service counts, would not fit its budget: 5 of 40 tokens used\. The service counts more tokens than maxTokens asks for: 2 for an answer of at most 1/,
  );
  expect(inner.count).toBe(1);
});

test('what is reserved with room for more counts in full where its attempt dies, and is not taken for what was asked', async () => {
  const inner = new SlowSampler();
  const first = (await open({ tokens: 40 })).limit(inner).sample(request(1));
  await until(() => inner.count === 1);
  await inner.release();
  await first;
  const dying = (await open({ tokens: 40 }, { epoch: 2 })).limit(inner).sample(request(4));
  dying.catch(() => undefined);
  await until(() => inner.count === 2);

  // 5 and 3 + 2·4 are spent of 40.
  const next = await open({ tokens: 40 }, { epoch: 3 });

  await expect(next.limit(inner).sample(request(11))).rejects.toThrow(/2 times.*16 of 40 tokens used/);
});
