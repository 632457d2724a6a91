import type { Client } from '@temporalio/client';
import { requestChange } from '../../../src/client/run-controls';
import { pauseUpdate } from '../../../src/workflows/contracts';

const BY = { by: 'me', reason: '' };

/** A server that answers every change so. */
function refusing(error: Error): Client {
  const handle = { executeUpdate: () => Promise.reject(error) };
  const fake = {
    withDeadline: (_deadline: number, call: () => Promise<unknown>) => call(),
    workflow: { getHandle: () => handle },
  };
  return fake as unknown as Client;
}

test('a run whose worker has just failed is asked again later: it is nothing that nobody foresaw', async () => {
  const details = 'Unable to perform workflow execution update due to Workflow Task in failed state.';
  const error = new Error('Workflow Update failed', {
    cause: Object.assign(new Error(`9 FAILED_PRECONDITION: ${details}`), { code: 9, details }),
  });
  const request = { ...BY, atStep: null, seconds: null, then: 'resume' as const };

  await expect(
    requestChange(refusing(error), { run: 'mine', update: pauseUpdate, request }),
  ).rejects.toMatchObject({
    code: 'unreachable',
    message: expect.stringMatching(/^Run "mine" was not changed: .* Ask again in a moment/) as string,
  });
});
