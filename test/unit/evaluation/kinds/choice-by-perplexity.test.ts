import type { ChoiceItem } from '../../../../src/evaluation/kinds/choice-by-perplexity';
import { choiceByPerplexity } from '../../../../src/evaluation/kinds/choice-by-perplexity';
import { evaluateKind } from '../../../../src/evaluation/kinds/evaluate-kind';
import { toySite, toyTokenizer } from './toy-model';

const { signal } = new AbortController();

function kindOf(...items: readonly ChoiceItem[]) {
  return choiceByPerplexity({
    name: 'toy',
    data: { rows: () => [] },
    get: (_, index) => items[index] ?? null,
  });
}

function run(site: ReturnType<typeof toySite>, items: readonly ChoiceItem[]) {
  return evaluateKind(site, kindOf(...items), { rows: items.map(() => ({})), reduce: 'mean', signal });
}

test('scores every token of the continuation, the first included, and none of the prefix', async () => {
  const seen: string[] = [];
  const site = toySite({
    logprob: (_, token) => {
      seen.push(token);
      return token === 'y' ? -0.1 : -5;
    },
  });

  // The last tokens are equal: only the first tell them apart.
  const { value, intermediates } = await run(site, [
    { prefix: 'q', continuations: ['xz', 'yz'], correct: 1 },
  ]);

  expect(value).toBe(1);
  expect(intermediates[0]?.mask).toEqual([false, true, true]);
  expect(intermediates[0]?.logprobs).toEqual([-0.1, -5]);
  expect(seen).toEqual(['x', 'z', 'y', 'z']);
});

test('a continuation of one token is scored by that token', async () => {
  const site = toySite({ logprob: (_, token) => (token === 'n' ? -0.2 : -3) });

  const { perExample } = await run(site, [{ prefix: 'q', continuations: ['m', 'n'], correct: 1 }]);

  expect(perExample).toEqual([1]);
});

test('compares means a token, so that a long continuation does not lose by its length', async () => {
  const site = toySite({ logprob: (_, token) => (token === 'k' ? -0.5 : -0.9) });

  const { value } = await run(site, [{ prefix: 'q', continuations: ['j', 'kkkk'], correct: 1 }]);

  expect(value).toBe(1);
});

test('a prefix that is too long loses its beginning, and the continuation stays whole', async () => {
  const site = toySite({ logprob: (_, token) => (token === 'y' ? -0.1 : -4) }, 8);

  const { value, intermediates } = await run(site, [
    { prefix: '0123456789', continuations: ['xx', 'yy'], correct: 1 },
  ]);

  expect(value).toBe(1);
  expect(toyTokenizer.decode(intermediates[0]?.tokens ?? [])).toBe('56789yy');
  expect(site.sampler.requests.map(({ prompt }) => prompt.length)).toEqual([7, 7]);
});

test('a continuation that does not fit is not asked and counts as wrong, also where the first would be right', async () => {
  const site = toySite({}, 4);

  const { value, perExample, intermediates } = await run(site, [
    { prefix: 'p', continuations: ['yes', 'no'], correct: 0 },
    { prefix: 'p', continuations: ['no', 'yesyesyes'], correct: 0 },
  ]);

  expect(value).toBe(0);
  expect(perExample).toEqual([null, null]);
  expect(intermediates).toEqual([null, null]);
  expect(site.sampler.requests).toEqual([]);
});

test('a tie is wrong wherever the right one stands', async () => {
  const site = toySite({ logprob: () => -1 });

  const { perExample } = await run(site, [
    { prefix: 'p', continuations: ['x', 'y'], correct: 0 },
    { prefix: 'p', continuations: ['x', 'y'], correct: 1 },
  ]);

  expect(perExample).toEqual([0, 0]);
});

test('a token that spans the boundary counts to the continuation, and no other of the prefix does', async () => {
  const site = toySite({ logprob: (_, token) => (token === 'ab' ? -0.3 : -2) });

  const { intermediates } = await run(site, [{ prefix: 'xya', continuations: ['b', 'c'], correct: 0 }]);

  expect(toyTokenizer.decode(intermediates[0]?.tokens.slice(2) ?? [])).toBe('ab');
  expect(intermediates[0]?.mask).toEqual([false, false, true]);
  expect(intermediates[0]?.logprobs).toEqual([-0.3]);
});

test('with an empty prefix the text follows the begin of text, so that its first token is scored', async () => {
  const site = toySite({ logprob: (before, token) => (before === '<s>' && token === 'g' ? -0.1 : -2) });

  const { value, intermediates } = await run(site, [{ prefix: '', continuations: ['b', 'g'], correct: 1 }]);

  expect(value).toBe(1);
  expect(intermediates[0]?.tokens).toEqual([1, 'g'.charCodeAt(0)]);
});

test('a failed request ends the evaluation: no example is lost in silence', async () => {
  const site = toySite({});
  const failing = {
    ...site,
    sampler: { sample: () => Promise.reject(new Error('connection reset')) },
  };
  const items = [{ prefix: 'p', continuations: ['x', 'y'], correct: 0 }];

  await expect(
    evaluateKind(failing, kindOf(...items), { rows: [{}], reduce: 'none', signal }),
  ).rejects.toThrow('connection reset');
});
