import type { RunHandle } from '../../../src/client/run-handle';
import type { RunReport } from '../../../src/client/run-report';
import type { Session } from '../../../src/cli/connect';
import { followRun } from '../../../src/cli/commands/train-follow';
import { recordOutput } from './recording-output';

const RUNNING: RunReport = {
  ...{ run: 'mine', workflowId: 'train/mine', kind: 'sft', model: 'm', engine: 'e', status: 'running' },
  ...{ step: 5, totalSteps: 40, startedAt: '2026-01-01T00:00:00.000Z', closedAt: null },
  ...{ lineage: 0, rewinds: 0, stepsReplayed: 0, finalWeightsDigest: null, waitingFor: null },
  ...{ pendingEvaluations: 0, stopAt: null, pause: null, source: 'workflow', note: null, refusal: null },
};

/** A run that is let go of as soon as it is asked for. */
function handleOf(): RunHandle {
  let isLetGo = false;
  const fake = {
    name: 'mine',
    status: () => Promise.resolve(isLetGo ? { ...RUNNING, status: 'paused', isLetGo } : RUNNING),
    scores: () => Promise.resolve([]),
    latestMetrics: () => Promise.resolve(null),
    preparedData: () => Promise.resolve(null),
    handOver: () => {
      isLetGo = true;
      return Promise.resolve(null);
    },
  };
  return fake as unknown as RunHandle;
}

test('a command that is interrupted ends when the run is handed over: nothing of its own keeps the process', async () => {
  const { output, stderr } = recordOutput();
  const session = { isEmbedded: true } as unknown as Session;
  const timers = () => process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout').length;
  const before = timers();

  const code = await followRun(handleOf(), { session, output, signal: AbortSignal.abort() });

  expect(code).toBe(130);
  expect(stderr()).toContain('Interrupted at step 5 of 40; nothing is lost.');
  expect(timers()).toBe(before);
});

test('what is remarked of a run is told while it trains, and once', async () => {
  const { output, stderr } = recordOutput();
  const session = { isEmbedded: true } as unknown as Session;
  const early = 'sums: 3 of its 40 examples stand in the training data too';
  const seen: RunReport[] = [
    { ...RUNNING, remarks: [early] },
    { ...RUNNING, remarks: [early] },
    { ...RUNNING, status: 'completed', step: 40, remarks: [early, 'one batch had no gradient'] },
  ];
  const beforeEnd: string[] = [];
  const handle = Object.assign(handleOf(), {
    status: () => {
      if (seen.length === 1) beforeEnd.push(stderr());
      return Promise.resolve(seen.length > 1 ? (seen.shift() ?? RUNNING) : (seen[0] ?? RUNNING));
    },
  });

  const code = await followRun(handle, { session, output, signal: new AbortController().signal });

  expect(code).toBe(0);
  expect(beforeEnd[0]).toContain(early);
  expect(stderr().split(early)).toHaveLength(2);
  expect(stderr()).toContain('one batch had no gradient');
});
