import { defaultPayloadConverter } from '@temporalio/common';
import { appendFile, mkdir, mkdtemp, readdir, rm, utimes } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { SupervisedConfig } from '../../../src/config/supervised-config';
import { listRuns } from '../../../src/client/list-runs';
import { CUT_OFF } from '../../../src/client/merge-scores';
import { RunHandle } from '../../../src/client/run-handle';
import type { RunState } from '../../../src/core/run';
import { createRunStore } from '../../../src/stores/run-store';
import type { RunStore } from '../../../src/stores/run-store';
import { FakeServer, LIVE, SERVER_AWAY, STATE, score } from './fake-server';

let root = '';
let records: RunStore;
beforeEach(async () => {
  root = await mkdtemp(path.join(os.tmpdir(), 'everstep-client-'));
  records = createRunStore(root);
});
afterEach(async () => {
  await rm(root, { recursive: true, force: true });
});

async function store(more: Partial<RunState> = {}): Promise<void> {
  const state = { ...STATE, ...more };
  await records.claim(state.run, { workflowId: `train/${state.run}`, firstRunId: 'first' });
  await records.writeState(state.run, state);
}

const handleOn = (link: FakeServer['link']) => new RunHandle('one', { link, records });

test('a run that the store does not have is not called unknown while a busy server does not say whether it has it', async () => {
  const server = new FakeServer({});
  server.isBusy = true;

  await expect(handleOn(server.link).status()).rejects.toMatchObject({
    code: 'unreachable',
    retryable: true,
  });
  server.isBusy = false;
  await expect(handleOn(server.link).status()).rejects.toMatchObject({ code: 'unknown-run' });
});

describe('of a run that nobody knows', () => {
  const READERS: readonly [string, (run: RunHandle) => Promise<unknown>][] = [
    ['metrics', (run) => run.metrics()],
    ['latestMetrics', (run) => run.latestMetrics()],
    ['scores', (run) => run.scores()],
    ['evaluations', (run) => run.evaluations()],
    ['checkpoints', (run) => run.checkpoints()],
    ['controls', (run) => run.controls()],
    ['timing', (run) => run.timing()],
    ['timeline', (run) => run.timeline()],
    ['best', (run) => run.best()],
    ['config', (run) => run.config()],
    ['folder', (run) => run.folder()],
    ['preparedData', (run) => run.preparedData()],
    ['rollouts', (run) => run.rollouts().newestStep()],
    ['rollouts of an evaluation', (run) => run.rollouts().readEvaluation('test')],
    ['pause', (run) => run.pause()],
    ['stop', (run) => run.stop()],
    ['promote', (run) => run.promote(3)],
    ['cancel', (run) => run.cancel()],
  ];

  test.each(READERS)('%s is refused with the names that are known', async (_, ask) => {
    await store();
    const handle = new RunHandle('nosuch', { link: new FakeServer({}).link, records });

    await expect(ask(handle)).rejects.toMatchObject({
      code: 'unknown-run',
      message: 'Unknown run "nosuch". Known: one.',
    });
  });

  test('a change of one that has ended is refused as of one that is not under way', async () => {
    await store();

    await expect(handleOn(new FakeServer({}).link).pause()).rejects.toMatchObject({
      code: 'refused',
      message: 'Run "one" is not under way on this server: there is nothing to change.',
    });
  });

  test('where the store has the run, no server is asked whether there is one', async () => {
    await store({ status: 'completed' });
    const link = { target: SERVER_AWAY.target, find: () => Promise.reject(new Error('asked')) };

    expect(
      await new RunHandle('one', { link: link as unknown as FakeServer['link'], records }).metrics(),
    ).toEqual([]);
  });

  test('one that was just accepted is known', async () => {
    const server = new FakeServer({ 'train/one': { status: 'RUNNING' } });

    expect(await handleOn(server.link).metrics()).toEqual([]);
    expect(await handleOn(server.link).config()).toBeNull();
  });
});

test('the count of its data is there once it is prepared', async () => {
  const summary = {
    rows: 4,
    tokens: 40,
    trainedTokens: 9,
    longest: 12,
    untrainedRows: 1,
    cutRows: 0,
    refusedRows: 2,
  };
  await store();
  expect(await handleOn(SERVER_AWAY).preparedData()).toBeNull();

  await records.writeConfig('one', { data: { summary: { ...summary, raggedRows: 0 } } });

  expect(await handleOn(SERVER_AWAY).preparedData()).toEqual({ summary: { ...summary, raggedRows: 0 } });
});

describe('status', () => {
  test('of a running run is what its workflow says, completed from the store', async () => {
    await store();
    const server = new FakeServer({ 'train/one': { status: 'RUNNING', answers: { status: LIVE } } });

    expect(await handleOn(server.link).status()).toMatchObject({
      ...{ status: 'running', step: 55, rewinds: 1, pendingEvaluations: 1, source: 'workflow', note: null },
      ...{ engine: STATE.engine, startedAt: STATE.startedAt },
    });
  });

  test('of a closed run needs no server', async () => {
    await store({
      status: 'completed',
      step: 100,
      closedAt: '2026-01-01T02:00:00.000Z',
      finalWeightsDigest: 'ab',
    });

    expect(await handleOn(SERVER_AWAY).status()).toMatchObject({
      status: 'completed',
      finalWeightsDigest: 'ab',
      source: 'store',
    });
  });

  test('with the server away is what the store last saw, and says so', async () => {
    await store();

    const report = await handleOn(SERVER_AWAY).status();

    // How many evaluations are due is not known, which is not the same as none.
    expect(report).toMatchObject({ status: 'running', step: 40, source: 'store', pendingEvaluations: null });
    expect(report.note).toContain('127.0.0.1:1 (namespace everstep) does not answer');
  });

  test('with the server away because its disk is full says that too', async () => {
    await store();

    const link = Object.assign({}, SERVER_AWAY, { whyAway: () => 'the disk of /data is full (0.0 MB free)' });
    const { note } = await handleOn(link).status();

    expect(note).toContain(
      'does not answer, and the disk of /data is full (0.0 MB free); free some space: this is',
    );
  });

  test('without a worker is waiting for one', async () => {
    await store();

    const report = await handleOn(new FakeServer({ 'train/one': { status: 'RUNNING' } }).link).status();

    expect(report).toMatchObject({
      status: 'waiting',
      step: 40,
      waitingFor: { what: 'a worker' },
      source: 'server',
    });
    expect(report.note).toContain('everstep worker');
  });

  test('whose workflow fails on the workers waits for others, and for none', async () => {
    await store();
    const failing = new FakeServer({
      'train/one': { status: 'RUNNING', pendingWorkflowTask: { attempt: 7 } },
    });

    const { waitingFor, note } = await handleOn(failing.link).status();

    expect(waitingFor?.what).toBe('workers that can go on with it');
    expect(note).toMatch(/the workflow was tried 6 times on the workers in vain/);
  });

  test('without a worker it waits since one was heard of last, whenever it is asked', async () => {
    await store();
    const longAgo = new Date('2026-01-01T00:30:00Z');
    const folder = records.runFolder('one');
    for (const name of await readdir(folder)) await utimes(path.join(folder, name), longAgo, longAgo);
    const heartbeat = { seconds: Date.parse('2026-01-01T00:40:00Z') / 1000 };
    const pendingActivities = [{ lastStartedTime: { seconds: 1 }, lastHeartbeatTime: heartbeat }];
    const silent = new FakeServer({ 'train/one': { status: 'RUNNING' } });
    const worked = new FakeServer({ 'train/one': { status: 'RUNNING', pendingActivities } });

    expect((await handleOn(silent.link).status()).waitingFor?.since).toBe('2026-01-01T00:30:00.000Z');
    expect((await handleOn(worked.link).status()).waitingFor?.since).toBe('2026-01-01T00:40:00.000Z');
  });

  test('of a paused run without a worker is paused, and says what changes need', async () => {
    await store({ status: 'paused' });

    const report = await handleOn(new FakeServer({ 'train/one': { status: 'RUNNING' } }).link).status();

    expect(report).toMatchObject({ status: 'paused', waitingFor: { what: 'a worker' } });
    expect(report.note).toMatch(/it is paused, and a change is made when one does. .*everstep worker/);
  });

  test('of a paused run that nobody answers for says who paused it and why, by its store', async () => {
    await store({ status: 'paused' });
    const row = { control: 'pause', step: 40, from: null, at: '2026-01-01T01:00:00.000Z' };
    const reason = '1000 of 1000 tokens are used';
    await appendFile(
      path.join(records.runFolder('one'), 'controls.jsonl'),
      `${JSON.stringify({ ...row, to: { step: 40, seconds: null, then: 'resume' }, by: 'budget', reason })}\n`,
    );
    const { link: quiet } = new FakeServer({ 'train/one': { status: 'RUNNING' } });

    for (const link of [SERVER_AWAY, quiet, new FakeServer({}).link]) {
      expect((await handleOn(link).status()).pause).toMatchObject({
        ...{ step: 40, by: 'budget', reason, until: null, then: 'resume' },
        since: expect.stringMatching(/^20/) as string,
      });
    }
  });

  test('of a run that nobody answers for tells the limits people set, and that what is used is not known', async () => {
    await store();
    const limits = { tokens: 12_000, seconds: null, dollars: null, dollarsPerMillionTokens: null };
    const row = { control: 'setBudget', step: 40, from: null, at: '2026-01-01T01:00:00.000Z' };
    const write = async (to: object) =>
      appendFile(
        path.join(records.runFolder('one'), 'controls.jsonl'),
        `${JSON.stringify({ ...row, to, by: 'ada', reason: '' })}\n`,
      );
    await records.writeConfig('one', { config: { budget: { tokens: 9000 } } });
    const { link: quiet } = new FakeServer({ 'train/one': { status: 'RUNNING' } });
    const links = [SERVER_AWAY, quiet, new FakeServer({}).link];

    const expectLimits = async (expected: object | undefined) => {
      for (const link of links) {
        const told = expected && { limits: expected, spent: null, warnings: [] };
        expect((await handleOn(link).status()).budget).toEqual(told);
      }
    };

    await expectLimits({ ...limits, tokens: 9000 });
    await write(limits);
    await expectLimits(limits);

    await write({ ...limits, tokens: null });
    await expectLimits(undefined);
  });

  test('says when the server does not have the workflow', async () => {
    await store();
    const handle = handleOn(new FakeServer().link);
    const fresh = await handle.status();
    const longAgo = new Date(Date.now() - 3_600_000);
    const folder = records.runFolder('one');
    for (const name of await readdir(folder)) await utimes(path.join(folder, name), longAgo, longAgo);

    const report = await handle.status();

    expect(report).toMatchObject({ status: 'running', source: 'store' });
    expect(report.note).toContain('has no workflow "train/one"');
    expect(report.note).toContain('--continue');
    // Somebody has just written it.
    expect(fresh.note).toMatch(
      /has no workflow "train\/one": it belongs to another server, which works on it/,
    );
    expect(fresh.note).not.toContain('--continue');
  });

  test('of a run that was terminated on the server is not running any more', async () => {
    await store();

    const report = await handleOn(new FakeServer({ 'train/one': { status: 'TERMINATED' } }).link).status();

    expect(report).toMatchObject({ status: 'cancelled', step: 40, closedAt: '2026-01-01T01:00:00.000Z' });
    expect(report.reason).toContain('before it could write how it ended');
  });

  test('of a run that was refused while it was prepared carries the refusal', async () => {
    const memo = { kind: 'sft', model: 'nope', engine: 'local' };
    const failure = { message: 'model: "nope" is not offered', type: 'unknown-model' };

    const report = await handleOn(
      new FakeServer({ 'train/one': { status: 'FAILED', memo, failure } }).link,
    ).status();

    expect(report).toMatchObject({
      ...{ status: 'failed', model: 'nope', step: 0, reason: failure.message },
      refusal: { code: 'unknown-model', message: failure.message },
    });
  });

  test('of a run being prepared comes from its memo', async () => {
    const memo = { kind: 'sft', model: 'm', engine: 'local' };
    const status = { ...LIVE, step: 0, totalSteps: 0 };

    const report = await handleOn(
      new FakeServer({ 'train/one': { status: 'RUNNING', memo, answers: { status } } }).link,
    ).status();

    expect(report).toMatchObject({ status: 'running', kind: 'sft', model: 'm', step: 0 });
  });

  test('says what its evaluations and rollouts wait for, and nothing of a worker that died', async () => {
    const told = (waiting: string) => ({
      heartbeatDetails: { payloads: [defaultPayloadConverter.toPayload({ waiting })] },
    });
    const [SCHEDULED, RUNNING] = [1, 2];
    const pendingActivities = [
      { state: RUNNING, activityType: { name: 'sampleRollouts' }, ...told('judge j: the endpoint is away') },
      { state: SCHEDULED, activityType: { name: 'evaluateCell' }, lastFailure: { message: 'judge j: 500' } },
      {
        ...{ state: RUNNING, activityType: { name: 'evaluateCell' } },
        lastFailure: { message: 'activity Heartbeat timeout', timeoutFailureInfo: {} },
      },
      { state: RUNNING, activityType: { name: 'trainSegment' }, ...told('its own affair') },
    ];

    const { waits } = await handleOn(
      new FakeServer({ 'train/one': { status: 'RUNNING', answers: { status: LIVE }, pendingActivities } })
        .link,
    ).status();

    expect(waits).toEqual([
      'rollouts wait: judge j: the endpoint is away',
      'an evaluation waits: judge j: 500',
    ]);
  });

  test('of a run whose next steps no worker has taken says that it waits for a place, whatever its workflow believes', async () => {
    const [scheduledTime, activityType] = [{ seconds: 1_700_000_000 }, { name: 'runSegment' }];
    const pendingActivities = [{ state: 1, attempt: 1, activityType, scheduledTime }];

    const { status, waitingFor } = await handleOn(
      new FakeServer({ 'train/one': { status: 'RUNNING', answers: { status: LIVE }, pendingActivities } })
        .link,
    ).status();

    expect(status).toBe('waiting');
    expect(waitingFor).toEqual({
      what: expect.stringContaining('a free place on a worker (everstep-training)') as string,
      since: '2023-11-14T22:13:20.000Z',
    });
  });

  test('of a run that a server knew, or has just accepted, is not unknown while no server answers', async () => {
    const server = new FakeServer({ 'train/one': { status: 'RUNNING', answers: { status: LIVE } } });
    let isAway = false;
    const find = () => (isAway ? SERVER_AWAY : server.link).find();
    const link = Object.assign(Object.create(server.link) as FakeServer['link'], { find });
    const seen = new RunHandle('one', { link, records });
    await seen.status();
    isAway = true;

    const started = handleOn(SERVER_AWAY).noteAccepted({ kind: 'sft', model: 'x', engine: '' });
    for (const handle of [seen, started])
      expect(await handle.status()).toMatchObject({
        status: 'running',
        note: expect.stringContaining('It goes on') as string,
      });
  });

  test('of an unknown run is refused with the known names', async () => {
    await store({ run: 'other' });

    await expect(handleOn(new FakeServer().link).status()).rejects.toMatchObject({
      code: 'unknown-run',
      message: 'Unknown run "one". Known: other.',
    });
  });
});

describe('scores and evaluations', () => {
  test('merge what the workflow has already and the store not yet', async () => {
    await store();
    const folder = records.runFolder('one');
    const stored = [score(), score({ schedule: 'infrequentEvaluators' })];
    await appendFile(
      path.join(folder, 'scores.jsonl'),
      stored.map((row) => `${JSON.stringify(row)}\n`).join(''),
    );
    const scores = [score(), score({ step: 10, value: 0.7 })];
    const evaluations = [
      { step: 0, evaluator: 'arithmetic', schedules: ['evaluators'], status: 'running' as const },
      { step: 20, evaluator: 'arithmetic', schedules: ['evaluators'], status: 'pending' as const },
    ];
    const server = new FakeServer({
      'train/one': { status: 'RUNNING', answers: { status: LIVE, scores, evaluations } },
    });
    const handle = handleOn(server.link);

    expect((await handle.scores()).map(({ step, schedule }) => [step, schedule])).toEqual([
      [0, 'evaluators'],
      [0, 'infrequentEvaluators'],
      [10, 'evaluators'],
    ]);
    expect(await handle.evaluations()).toEqual([
      { step: 0, evaluator: 'arithmetic', schedules: ['evaluators', 'infrequentEvaluators'], status: 'done' },
      { step: 20, evaluator: 'arithmetic', schedules: ['evaluators'], status: 'pending' },
    ]);
  });

  async function evaluateEvery10(): Promise<void> {
    const config = SupervisedConfig.parse({
      ...{ kind: 'sft', model: 'everstep/tiny', dataset: { path: 'train.jsonl' } },
      ...{ evaluators: ['arithmetic'], evalEvery: 10 },
    });
    await records.writeConfig('one', { config, evaluators: { arithmetic: {} } });
  }

  test.each([
    ['Temporal', SERVER_AWAY],
    ['the worker', new FakeServer({ 'train/one': { status: 'RUNNING' } }).link],
  ])(
    'what is due is shown as due while %s is away, with what it has so far and since when',
    async (_, link) => {
      await store({ step: 25 });
      const folder = records.runFolder('one');
      await evaluateEvery10();
      const row = score();
      await appendFile(path.join(folder, 'scores.jsonl'), `${JSON.stringify(row)}\n`);
      for (const cell of ['20/arithmetic', '23/asked'])
        await mkdir(path.join(folder, 'evals', cell, 'journal'), { recursive: true });
      const grades = [1, 0].map((value, key) => `${JSON.stringify({ key: String(key), value })}\n`).join('');
      await appendFile(path.join(folder, 'evals/20/arithmetic/journal/grades.jsonl'), grades);

      const cells = await handleOn(link).evaluations();

      expect(cells).toMatchObject([
        { step: 0, evaluator: 'arithmetic', status: 'done' },
        { step: 10, evaluator: 'arithmetic', schedules: ['evaluators'], status: 'due' },
        { step: 20, evaluator: 'arithmetic', status: 'due', partial: { done: 2, value: 0.5 } },
        { step: 23, evaluator: 'asked', status: 'due' },
      ]);
      for (const { heardAt } of cells.slice(1)) expect(Date.parse(heardAt ?? '')).not.toBeNaN();
    },
  );

  test('what is due goes by the schedules as people changed them', async () => {
    await store({ step: 25 });
    const folder = records.runFolder('one');
    await evaluateEvery10();
    const to = { schedule: 'evaluators', when: { steps: 4 }, evaluators: ['arithmetic'] };
    const change = {
      control: 'setEvalSchedule',
      step: 21,
      from: null,
      to,
      by: 'me',
      reason: 'slower',
      at: '2026-01-01T00:00:00.000Z',
    };
    await appendFile(path.join(folder, 'controls.jsonl'), `${JSON.stringify(change)}\n`);

    const cells = await handleOn(SERVER_AWAY).evaluations();

    expect(cells.map(({ step, status }) => [step, status])).toEqual([
      [0, 'due'],
      [10, 'due'],
      [20, 'due'],
      [24, 'due'],
    ]);
  });

  test('what a workflow had not finished that was terminated is cut off, though it still answers', async () => {
    await store({ step: 25 });
    await evaluateEvery10();
    const row = score();
    await appendFile(path.join(records.runFolder('one'), 'scores.jsonl'), `${JSON.stringify(row)}\n`);
    const asked = { evaluator: 'arithmetic', schedules: ['evaluators'] };
    const evaluations = [
      { ...asked, step: 10, status: 'done' as const },
      { ...asked, step: 20, status: 'running' as const },
      { step: 22, evaluator: 'asked', schedules: [], status: 'pending' as const },
    ];
    const answers = { status: LIVE, evaluations };
    const server = new FakeServer({ 'train/one': { status: 'TERMINATED', answers } });

    expect(await handleOn(server.link).evaluations()).toMatchObject([
      { step: 0, status: 'done' },
      { step: 10, status: 'done' },
      { step: 20, status: 'cancelled', error: CUT_OFF.error },
      { step: 22, evaluator: 'asked', status: 'cancelled', error: CUT_OFF.error },
    ]);
  });

  test('what is due by tokens or by the clock is due by what was sent, damaged rows passed over', async () => {
    await store({ step: 6 });
    const config = SupervisedConfig.parse({
      ...{ kind: 'sft', model: 'everstep/tiny', dataset: { path: 'train.jsonl' } },
      schedules: [
        { name: 'tok', every: { tokens: 100 }, evaluators: ['arithmetic'] },
        { name: 'clock', every: { seconds: 60 }, evaluators: ['arithmetic'] },
      ],
    });
    await records.writeConfig('one', { config, evaluators: { arithmetic: {} } });
    const row = (step: number, more: object = {}) => ({ step, incarnation: 0, tokens: 30 * step, ...more });
    const rows = [
      ...[row(1), row(2), row(3), row(4)],
      ...[row(5, { schedules: 'clock' }), row(5, { schedules: [5] }), row(5, { schedules: [] })],
      row(6, { schedules: ['clock'] }),
    ];
    const text = rows.map((each) => `${JSON.stringify(each)}\n`).join('');
    await appendFile(path.join(records.runFolder('one'), 'sent.jsonl'), text);

    const cells = await handleOn(SERVER_AWAY).evaluations();

    expect(cells.map(({ step, schedules }) => [step, schedules])).toEqual([
      [0, ['tok', 'clock']],
      [4, ['tok']],
      [6, ['clock']],
    ]);
  });

  test('a failed evaluator is a failed cell', async () => {
    await store({ status: 'completed' });
    const row = score({ metric: 'error', value: null, error: 'no luck' });
    await appendFile(path.join(records.runFolder('one'), 'scores.jsonl'), `${JSON.stringify(row)}\n`);

    expect(await handleOn(SERVER_AWAY).evaluations()).toMatchObject([{ status: 'failed', error: 'no luck' }]);
  });
});

test('a checkpoint of a run that has ended is promoted by a workflow of its own', async () => {
  await store({ status: 'completed', step: 100 });
  const server = new FakeServer({ 'train/one': { status: 'COMPLETED' } });

  await handleOn(server.link).promote(5, { by: 'someone' });

  expect(server.updates).toEqual([]);
  expect(server.started).toMatchObject([
    {
      type: 'promoteCheckpoint',
      options: {
        workflowId: 'promote/one@5',
        args: [{ run: 'one', from: null, request: { checkpoint: 5, by: 'someone' } }],
      },
    },
  ]);
});

describe('result', () => {
  test('waits until the run has ended', async () => {
    await store();
    const server = new FakeServer({ 'train/one': { status: 'RUNNING', answers: { status: LIVE } } });
    let seen = 0;

    const result = await handleOn(server.link).result({
      onReport: () => {
        if (++seen === 1) void records.writeState('one', { ...STATE, status: 'completed', step: 100 });
      },
    });

    expect(result).toMatchObject({ status: 'completed', step: 100 });
    expect(seen).toBe(2);
  });

  test('stops waiting when it is told to, and leaves the run alone', async () => {
    await store();
    const server = new FakeServer({ 'train/one': { status: 'RUNNING', answers: { status: LIVE } } });

    const result = await handleOn(server.link).result({ signal: AbortSignal.abort() });

    expect(result.status).toBe('running');
  });
});

describe('listing', () => {
  test('shows stored runs as they stand and those the store does not have yet, the newest first', async () => {
    await store();
    await store({
      run: 'old',
      status: 'completed',
      startedAt: '2025-01-01T00:00:00.000Z',
      closedAt: '2025-01-02T00:00:00.000Z',
    });
    const memo = { kind: 'sft', model: 'fresh/model', engine: 'local' };
    const server = new FakeServer({
      'train/one': { status: 'RUNNING', answers: { status: LIVE } },
      'train/fresh': { status: 'RUNNING', memo, answers: { status: { ...LIVE, run: 'fresh', step: 0 } } },
      'eval/one/0': { status: 'RUNNING' },
    });

    const runs = await listRuns({ link: server.link, records });

    expect(runs.map(({ run, step, model }) => [run, step, model])).toEqual([
      ['fresh', 0, 'fresh/model'],
      ['one', 55, 'everstep/tiny'],
      ['old', 40, 'everstep/tiny'],
    ]);
    expect(Object.keys(runs[0] ?? {})).toEqual([
      'run',
      'kind',
      'model',
      'status',
      'step',
      'totalSteps',
      'startedAt',
      'closedAt',
      'score',
    ]);
  });

  test('filters by status, kind and model', async () => {
    await store();
    await store({ run: 'two', status: 'failed', model: 'other' });

    expect(await listRuns({ link: SERVER_AWAY, records }, { status: 'failed' })).toMatchObject([
      { run: 'two' },
    ]);
    expect(await listRuns({ link: SERVER_AWAY, records }, { model: 'everstep/tiny' })).toMatchObject([
      { run: 'one' },
    ]);
    expect(await listRuns({ link: SERVER_AWAY, records }, { kind: 'rl' })).toEqual([]);
  });
});

test('cancelling passes on the reason', async () => {
  await store();
  const server = new FakeServer({ 'train/one': { status: 'RUNNING' } });

  await handleOn(server.link).cancel({ reason: 'too slow' });

  expect(server.cancelled).toEqual([{ workflowId: 'train/one', reason: 'too slow' }]);
  expect(server.updates).toMatchObject([{ name: 'explainCancel', request: { reason: 'too slow' } }]);
});

test('stopping tells the step, and a request that makes no sense is not sent', async () => {
  await store();
  const server = new FakeServer({ 'train/one': { status: 'RUNNING' } });

  const receipt = await handleOn(server.link).stop({ by: 'me', reason: 'done', atStep: 7 });

  expect(receipt).toEqual({ control: 'stop', step: 7 });
  expect(server.updates).toEqual([
    { workflowId: 'train/one', name: 'stop', request: { by: 'me', reason: 'done', atStep: 7 } },
  ]);
  await expect(handleOn(server.link).stop({ atStep: 0 })).rejects.toThrow(/atStep/);
  await expect(handleOn(server.link).stop({ reason: 'x'.repeat(3000) })).rejects.toThrow(/reason/);
  await expect(handleOn(new FakeServer().link).stop()).rejects.toThrow(/not under way/);
});

test('a run that left nothing has no folder', async () => {
  expect(await handleOn(new FakeServer({ 'train/one': { status: 'FAILED' } }).link).folder()).toBeNull();

  await store();
  expect(await handleOn(SERVER_AWAY).folder()).toBe(path.join(root, 'runs', 'one'));
});
