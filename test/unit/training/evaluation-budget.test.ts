import type { Sampler } from '../../../src/core/sampling';
import { EvaluationAllowance } from '../../../src/training/evaluation-budget';

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

const request = (maxTokens: number) => ({
  prompt: [1, 2, 3],
  numSamples: 1,
  params: { maxTokens, temperature: 0, topK: -1, topP: 1 },
});

test('what may be needed is reserved, and what was not is given back', async () => {
  const inner = new SlowSampler();
  const allowance = new EvaluationAllowance({ tokens: 30 }, null);
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
  const allowance = new EvaluationAllowance({ tokens: 30 }, null);
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
  const sampler = new EvaluationAllowance({ dollars: 8 }, prices).limit(inner);
  const first = sampler.sample(request(2));
  await new Promise((resolve) => setImmediate(resolve));
  await inner.release();
  await first;

  // 3·1 + 2·2 = 7 dollars are spent; any other prompt costs 3.
  await expect(sampler.sample(request(1))).rejects.toThrow(/would not fit its budget: \$\S+ of \$8 used/);
});
