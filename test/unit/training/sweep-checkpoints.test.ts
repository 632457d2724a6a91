import type { TinkerClient } from '../../../src/engines/tinker/client';
import { DomainError } from '../../../src/core/errors';
import type { CheckpointRow } from '../../../src/core/run';
import { sweepCheckpoints } from '../../../src/training/sweep-checkpoints';

const ROW: CheckpointRow = {
  name: '000020',
  step: 20,
  batch: 20,
  epoch: 0,
  final: false,
  state_path: 'tinker://b/weights/000020',
  sampler_path: 'tinker://b/sampler_weights/000020',
  elapsed_tokens: 1,
  lineage: 0,
  incarnation: 1,
};

function service(saved: Readonly<Record<string, readonly string[]>>) {
  const deleted: string[] = [];
  const client = {
    listCheckpoints: async (model: string) => {
      const names = saved[model];
      if (!names) throw new DomainError('session-lost', 'not known');
      return names.map((name) => ({ path: `tinker://${model}/${name}` }));
    },
    deleteCheckpoint: async (path: string) => {
      deleted.push(path);
    },
  } as unknown as TinkerClient;
  return { client, deleted };
}

test('what no row names goes, in every life; rows, and names of others, stay', async () => {
  const { client, deleted } = service({
    a: ['weights/000020', 'sampler_weights/000030', 'weights/final'],
    b: ['weights/000020', 'sampler_weights/000020', 'weights/my-own', 'sampler_weights/000020-best'],
  });

  const { signal } = new AbortController();
  await sweepCheckpoints(client, { lives: ['a', 'forgotten', 'b', 'b'], rows: [ROW], signal });

  expect(deleted).toEqual([
    'tinker://a/weights/000020',
    'tinker://a/sampler_weights/000030',
    'tinker://a/weights/final',
  ]);
});

test('a service that fails otherwise is not taken for one that forgot', async () => {
  const client = {
    listCheckpoints: async () => Promise.reject(new DomainError('unreachable', 'away', { retryable: true })),
  } as unknown as TinkerClient;

  const { signal } = new AbortController();
  const sweep = sweepCheckpoints(client, { lives: ['a'], rows: [], signal });

  await expect(sweep).rejects.toMatchObject({ code: 'unreachable' });
});
