import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { createCrash } from '../../../src/cli/commands/demo-crash';
import { judgeDemo } from '../../../src/cli/commands/demo-verdict';
import type { RunReport } from '../../../src/client/run-report';
import { identifyProcess, ownIdentity } from '../../../src/stack/process-identity';
import { writeStackRecord } from '../../../src/stack/stack-record';
import { STATE, score } from '../client/fake-server';
import { recordOutput } from './recording-output';

const REPORT: RunReport = {
  ...STATE,
  status: 'completed',
  step: 100,
  ...{
    waitingFor: null,
    stopAt: null,
    pause: null,
    pendingEvaluations: 0,
    source: 'store',
    note: null,
    refusal: null,
  },
};
const FULL = { isShortened: false };

describe('verdict', () => {
  test('takes the final score of the largest test', () => {
    const scores = [
      score({ step: 100, value: 0.94, n: 100 }),
      score({ step: 100, value: 0.97, n: 400, evaluator: 'arithmetic-large' }),
      score({ step: 50, value: 0.1, n: 900 }),
    ];

    expect(judgeDemo(REPORT, scores, FULL)).toEqual({
      isGood: true,
      text: 'Accuracy on 400 pairs it never saw: 0.97.',
    });
  });

  test('fails at 0.95', () => {
    expect(judgeDemo(REPORT, [score({ step: 100, value: 0.95 })], FULL).isGood).toBe(false);
  });

  test('does not ask as much of fewer steps', () => {
    expect(judgeDemo(REPORT, [score({ step: 100, value: 0.2 })], { isShortened: true }).isGood).toBe(true);
  });

  test('fails without a final score', () => {
    expect(judgeDemo(REPORT, [score({ step: 50, value: 1 })], FULL).isGood).toBe(false);
  });

  test('fails when the run did not complete', () => {
    expect(judgeDemo({ ...REPORT, status: 'failed' }, [score({ step: 100, value: 1 })], FULL)).toEqual({
      isGood: false,
      text: 'The run did not complete: it is failed at step 100.',
    });
  });
});

test('kills the worker once, half-way, and says when another one goes on', async () => {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'everstep-demo-'));
  const victim = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { stdio: 'ignore' });
  const gone = once(victim, 'exit');
  const record = (workerPid: number) => {
    writeStackRecord(folder, {
      ...ownIdentity(),
      ...{
        ready: true,
        kind: 'until-idle',
        temporalAddress: '127.0.0.1:1',
        namespace: 'everstep',
        uiUrl: null,
      },
      ...{ engineUrl: 'http://127.0.0.1:2', store: folder },
      children: [
        { name: 'engine', ...ownIdentity() },
        { name: 'worker', pid: workerPid, startedAt: identifyProcess(workerPid)?.startedAt ?? 'unknown' },
      ],
    });
  };
  try {
    record(victim.pid ?? 0);
    const { output, stdout } = recordOutput();
    const crash = createCrash(folder, output);

    crash({ ...REPORT, status: 'running', step: 49 });
    expect(stdout()).toBe('');
    crash({ ...REPORT, status: 'running', step: 50 });
    expect((await gone)[1]).toBe('SIGKILL');
    crash({ ...REPORT, status: 'running', step: 53 });
    expect(stdout().trim().split('\n')).toHaveLength(1);
    record(process.pid);
    crash({ ...REPORT, status: 'running', step: 54 });
    crash({ ...REPORT, status: 'running', step: 60 });

    const lines = stdout().trim().split('\n');
    expect(lines).toHaveLength(2);
    expect(lines[0]).toContain(`step 50: killed the worker that trains (kill -9 ${victim.pid})`);
    expect(lines[1]).toContain(`step 54: a new worker (process ${process.pid}) is at work, `);
  } finally {
    victim.kill('SIGKILL');
    await rm(folder, { recursive: true, force: true });
  }
});
