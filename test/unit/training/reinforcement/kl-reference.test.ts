import type { SampleRequest, Sampler } from '../../../../src/core/sampling';
import { DomainError } from '../../../../src/core/errors';
import { namingKlReference } from '../../../../src/training/reinforcement/kl-reference';

const REQUEST: SampleRequest = {
  prompt: [1],
  numSamples: 1,
  params: { maxTokens: 1, temperature: 1, topK: -1, topP: 1 },
};

function failing(error: Error): Sampler {
  return namingKlReference({ sample: () => Promise.reject(error) });
}

test('a reference that is gone does not pass for the policy’s weights, and is named', async () => {
  const gone = new DomainError('checkpoint-missing', 'the training service does not have tinker://m/zzz');

  await expect(failing(gone).sample(REQUEST)).rejects.toMatchObject({
    code: 'bad-config',
    retryable: false,
    message: 'klReference: the training service does not have tinker://m/zzz',
  });
});

test('what else a reference meets stays what it is', async () => {
  const away = new DomainError('unreachable', 'away', { retryable: true });

  await expect(failing(away).sample(REQUEST)).rejects.toBe(away);
});
