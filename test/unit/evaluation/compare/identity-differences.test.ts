import { identityDifferences } from '../../../../src/evaluation/compare/identity-differences';
import type { ResultIdentity } from '../../../../src/stores/eval-store';

function identityWith(sampling: Readonly<Record<string, unknown>>): ResultIdentity {
  return {
    ...{ benchmarkVersion: 1, dataHash: 'd', promptHash: 'p', graderVersion: 'g@1', model: 'm' },
    ...{ checkpoint: 'c', sampling },
  };
}

test('what is null is not given', () => {
  const a = identityWith({ temperature: 0, contextWindow: null });

  expect(identityDifferences(a, identityWith({ temperature: 0 }))).toEqual([]);
  expect(identityDifferences(a, identityWith({ temperature: null }))).toEqual([
    { key: 'sampling.temperature', a: '0', b: 'not given' },
  ]);
});
