import { setTimeout as sleep } from 'node:timers/promises';
import pino from 'pino';
import { standingOf, watchVersion } from '../../../src/workers/watch-version';

type Routing = Parameters<typeof standingOf>[1];
/** What the server says at one moment: which queues of the version it knows, and who gets work. */
interface Answer {
  readonly queues: readonly string[];
  readonly routing: Routing;
}

const VERSION = { deploymentName: 'everstep', buildId: '2' };
const server = { address: '127.0.0.1:7233', namespace: 'runs' };

function answer(routing: Routing, queues: readonly string[] = ['one', 'two']): Answer {
  return { routing, queues };
}

const current = (buildId: string): Routing => ({
  currentDeploymentVersion: { deploymentName: 'everstep', buildId },
});

/** What the watcher logs while the server gives these answers, the last one for ever. */
async function watch(answers: readonly (Answer | Error)[]): Promise<{ log: string[]; asked: number }> {
  const log: string[] = [];
  const logger = pino(
    { base: null, timestamp: false },
    { write: (line: string) => log.push((JSON.parse(line) as { msg: string }).msg) },
  );
  const ending = new AbortController();
  let asked = 0;
  const watching = watchVersion({
    version: VERSION,
    server,
    logger,
    signal: ending.signal,
    intervals: { firstMs: 1, laterMs: 1 },
    taskQueues: ['one', 'two'],
    service: {
      async describeWorkerDeploymentVersion() {
        const next = answers[Math.min(asked, answers.length - 1)];
        if (next instanceof Error) {
          asked += 1;
          throw next;
        }
        if (next?.queues.length !== 2) asked += 1;
        return {
          workerDeploymentVersionInfo: { taskQueueInfos: next?.queues.map((name) => ({ name })) ?? [] },
        };
      },
      async describeWorkerDeployment() {
        const next = answers[Math.min(asked, answers.length - 1)];
        asked += 1;
        if (next instanceof Error) throw next;
        return { workerDeploymentInfo: { routingConfig: next?.routing ?? {} } };
      },
    },
  });
  const isOver = Promise.race([watching.then(() => true), sleep(0, false)]);
  while (asked < answers.length + 3 && !(await isOver)) await sleep(2);
  ending.abort();
  await watching;
  return { log, asked };
}

function refusal(code: number): Error {
  return Object.assign(new Error(`refused with ${code}`), { code });
}

test.each<[string, Routing, object]>([
  ['the current version gets everything', current('2'), { gets: 'all' }],
  ['another version is current', current('1'), { gets: 'nothing', current: '1' }],
  ['no version is current', {}, { gets: 'nothing', current: null }],
  [
    'a ramping version gets a share',
    {
      ...current('1'),
      rampingDeploymentVersion: { deploymentName: 'everstep', buildId: '2' },
      rampingVersionPercentage: 25,
    },
    { gets: 'share', percentage: 25 },
  ],
  [
    'a ramp of nothing gives nothing',
    { ...current('1'), rampingDeploymentVersion: { deploymentName: 'everstep', buildId: '2' } },
    { gets: 'nothing', current: '1' },
  ],
])('%s', (_rule, routing, standing) => {
  expect(standingOf('2', routing)).toEqual(standing);
});

test('says once in one line that the version is not current, with the command that makes it current', async () => {
  const { log } = await watch([answer(current('1')), answer(current('1'))]);

  expect(log).toEqual([
    'version 2 of deployment everstep is not current (1 is): this worker gets no new work. To make it current: ' +
      'temporal worker deployment set-current-version --yes --deployment-name everstep --build-id 2 ' +
      '--address 127.0.0.1:7233 --namespace runs',
  ]);
});

test('says when that changes', async () => {
  const { log } = await watch([answer({}), answer(current('2')), answer(current('2')), answer(current('3'))]);

  expect(log).toEqual([
    expect.stringContaining('not current (no version is)'),
    'version 2 of deployment everstep is current: this worker gets work',
    expect.stringContaining('not current (3 is)'),
  ]);
});

test('waits until the server has heard of every queue, and through answers that are lost', async () => {
  const { log } = await watch([refusal(5), refusal(14), answer({}, ['one']), answer(current('2'))]);

  expect(log).toEqual(['version 2 of deployment everstep is current: this worker gets work']);
});

test.each([7, 12, 16])('asks no more when the server refuses with code %i', async (code) => {
  const { log, asked } = await watch([refusal(code)]);

  expect(log).toEqual(['the server does not say which version is current']);
  expect(asked).toBe(1);
});
