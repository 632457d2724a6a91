import type { Client } from '@temporalio/client';
import { adviseOnWorkers, remedyForRun } from '../../../src/client/find-pollers';

const SERVER = { address: '127.0.0.1:7233', namespace: 'everstep' };
const ALL = ['everstep', 'everstep-training', 'everstep-sampling'];

interface Version {
  readonly deploymentName: string;
  readonly buildId: string;
}
interface Queue {
  /** null: a worker without a version. */
  readonly pollers: readonly (Version | null)[];
  readonly current?: Version;
  /** Since when they have not polled. */
  readonly silentSeconds?: number;
}

const one = { deploymentName: 'everstep', buildId: '1' };
const two = { deploymentName: 'everstep', buildId: '2' };

/** A server whose queues are as given; a queue it does not know fails. */
function clientOf(queues: Readonly<Record<string, Queue>>): Client {
  return {
    options: { namespace: 'everstep' },
    withDeadline: async <Result>(_deadline: number, call: () => Promise<Result>) => call(),
    workflowService: {
      describeTaskQueue: async ({ taskQueue }: { taskQueue: { name: string } }) => {
        const queue = queues[taskQueue.name];
        if (!queue) throw new Error('PERMISSION_DENIED');
        const { pollers, current, silentSeconds } = queue;
        const seconds = Math.floor(Date.now() / 1000) - (silentSeconds ?? 0);
        return {
          pollers: pollers.map((version) => ({
            deploymentOptions: version && { ...version },
            ...(silentSeconds !== undefined && { lastAccessTime: { seconds } }),
          })),
          versioningInfo: { currentDeploymentVersion: current ?? null },
        };
      },
    },
  } as unknown as Client;
}

const everywhere = (queue: Queue) => Object.fromEntries(ALL.map((name) => [name, queue]));

test.each<[string, Record<string, Queue>]>([
  ['workers without versions', everywhere({ pollers: [null] })],
  ['workers of the current version', everywhere({ pollers: [one, two], current: two })],
  ['workers without versions beside those of one that waits', everywhere({ pollers: [two, null] })],
  ['a server that does not say', {}],
])('has nothing to say of %s', async (_, queues) => {
  expect(await adviseOnWorkers(clientOf(queues), SERVER)).toBeNull();
  expect(await remedyForRun(clientOf(queues), SERVER)).toBeNull();
});

test.each([
  [
    'polled a moment ago',
    20,
    expect.stringMatching(
      /^One polled 2[01] s ago and may only be busy; if it is gone, start one with `npx everstep worker`\.$/,
    ) as string,
  ],
  ['polled long ago', 200, null],
])('a run that nobody answers for, whose worker %s', async (_, silentSeconds, remedy) => {
  const said = await remedyForRun(clientOf(everywhere({ pollers: [null], silentSeconds })), SERVER);

  expect(said).toEqual(remedy);
});

test('names each queue without a worker once, and says to start one', async () => {
  const client = clientOf({ ...everywhere({ pollers: [] }), 'everstep-sampling': { pollers: [null] } });

  expect(await adviseOnWorkers(client, SERVER)).toBe(
    'No worker polls everstep, everstep-training on 127.0.0.1:7233 (namespace everstep): the run waits until one does. Start `npx everstep worker` there.',
  );
  expect(await remedyForRun(client, SERVER)).toBeNull();
});

test.each<[string, Queue]>([
  ['no version is', { pollers: [two] }],
  ['another version is', { pollers: [two], current: one }],
  ['a deployment of another name is', { pollers: [two], current: { ...two, deploymentName: 'other' } }],
])('workers are to be made current where %s', async (_, queue) => {
  const client = clientOf(everywhere(queue));
  const command =
    'temporal worker deployment set-current-version --yes --deployment-name everstep --build-id 2 --address 127.0.0.1:7233 --namespace everstep';

  const advice = await adviseOnWorkers(client, SERVER);

  expect(advice).toContain(command);
  expect(advice).not.toContain('npx everstep worker');
  expect(await remedyForRun(client, SERVER)).toContain(command);
});
