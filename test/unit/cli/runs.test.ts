import { appendFile, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Everstep } from '../../../src/client/everstep';
import { showRun, showScores, watchOneRun } from '../../../src/cli/commands/runs-actions';
import { watchWhenStarted } from '../../../src/cli/commands/runs-watch';
import { showMetrics } from '../../../src/cli/commands/runs-metrics';
import { showCheckpoints, showEvaluations } from '../../../src/cli/commands/runs-checkpoints';
import { listRuns } from '../../../src/cli/commands/runs-list';
import { cancelAndWait, confirmEnding } from '../../../src/cli/commands/runs-ending';
import { RunHandle } from '../../../src/client/run-handle';
import type { Session } from '../../../src/cli/connect';
import type { RunState } from '../../../src/core/run';
import { takePidLock } from '../../../src/stack/pid-lock';
import { stackPlaces } from '../../../src/stack/stack-record';
import { createRunStore } from '../../../src/stores/run-store';
import { FakeServer, LIVE, STATE, score } from '../client/fake-server';
import { recordOutput } from './recording-output';

let root = '';
let session: Session;
beforeEach(async () => {
  root = await mkdtemp(path.join(os.tmpdir(), 'everstep-runs-'));
  const everstep = await Everstep.connect({ store: root, temporal: null });
  session = { everstep } as Session;
});
afterEach(async () => {
  await rm(root, { recursive: true, force: true });
});

const COMPLETED: RunState = {
  ...STATE,
  status: 'completed',
  step: 100,
  closedAt: '2026-01-01T00:10:00.000Z',
  finalWeightsDigest: 'abc',
  rewinds: 2,
  stepsReplayed: 7,
};

async function store(state: RunState, files: Record<string, readonly object[]> = {}): Promise<void> {
  const records = createRunStore(root);
  await records.claim(state.run, { workflowId: state.workflowId, firstRunId: 'first' });
  await records.writeState(state.run, state);
  for (const [name, rows] of Object.entries(files)) {
    const text = rows.map((row) => `${JSON.stringify(row)}\n`).join('');
    await appendFile(path.join(records.runFolder(state.run), `${name}.jsonl`), text);
  }
}

const METRICS = [
  { step: 1, 'train/nll': 2.5, 'optim/lr': 0.001 },
  { step: 2, 'train/nll': null, 'optim/lr': 0.0005 },
];

test('runs list --json has one entry a run with the fixed keys', async () => {
  await store(COMPLETED);
  const { output, stdout } = recordOutput({ json: true });

  expect(await listRuns(session, output, {})).toBe(0);

  expect(JSON.parse(stdout())).toEqual({
    runs: [
      {
        run: 'one',
        kind: 'sft',
        model: 'everstep/tiny',
        status: 'completed',
        step: 100,
        totalSteps: 100,
        startedAt: STATE.startedAt,
        closedAt: COMPLETED.closedAt,
        score: null,
      },
    ],
  });
});

test.each([
  '{"step":"x"}',
  '[]',
  'null',
  '{"status":5}',
  JSON.stringify({ ...STATE, run: 'bad', step: '5' }),
])('runs list shows the others beside a state of %s, and names its file', async (text) => {
  await store(COMPLETED);
  await store({ ...COMPLETED, run: 'bad' });
  const file = path.join(root, 'runs', 'bad', 'state.json');
  await writeFile(file, text);
  const [people, program] = [recordOutput(), recordOutput({ json: true })];

  expect(await listRuns(session, people.output, {})).toBe(0);
  expect(await listRuns(session, program.output, {})).toBe(0);

  expect(people.stdout()).toMatch(/^one /m);
  expect(people.stderr()).toMatch(/^Run "bad": its state cannot be read \(.*bad\/state\.json\): [^.]*\. Put/);
  expect(JSON.parse(program.stdout())).toMatchObject({
    runs: [{ run: 'one' }],
    unreadable: [{ run: 'bad', file }],
  });
  const shown = showRun(session.everstep.run('bad'), session, people.output);
  await expect(shown).rejects.toMatchObject({
    code: 'unknown-run',
    message: expect.stringContaining(file) as string,
  });
});

test('runs list says in whole sentences what lies in the place of a state', async () => {
  await store(COMPLETED);
  await store({ ...COMPLETED, run: 'bad' });
  const file = path.join(root, 'runs', 'bad', 'state.json');
  await rm(file);
  await mkdir(file);
  const { output, stderr } = recordOutput();

  await listRuns(session, output, {});

  expect(stderr()).toBe(
    `Run "bad": its state cannot be read (${file}): ${file} is a directory where a file belongs. Move it away, and put the file back if there was one. ` +
      "Put a copy of the file back, or take the run's folder away.\n",
  );
});

test('runs show keeps the lines of a reason, and none of them passes for another fact', async () => {
  const reason =
    'r.jsonl has 2 bad rows of 3:\n  - line 2: unknown field "\u001b[2J"\nstatus          completed';
  await store({ ...COMPLETED, run: 'refused', status: 'failed', reason });
  const { output, stdout } = recordOutput();

  await showRun(session.everstep.run('refused'), session, output);

  const lines = stdout().split('\n');
  const first = lines.findIndex((line) => line.startsWith('status'));
  expect(lines.slice(first, first + 3)).toEqual([
    'status          failed: r.jsonl has 2 bad rows of 3:',
    '                - line 2: unknown field "\\x1b[2J"',
    '                status          completed',
  ]);
});

test('runs list says how many there are beyond the limit, and sorts by score', async () => {
  const good = score({ step: 100, value: 0.9, higherIsBetter: true });
  await store({ ...COMPLETED, run: 'good' }, { scores: [{ ...good, value: 0.2, step: 0 }, good] });
  const loss = { evaluator: 'test', metric: 'bpb', higherIsBetter: false };
  await store({ ...COMPLETED, run: 'fair' }, { scores: [{ ...good, ...loss, value: 0.5 }] });
  await store({ ...COMPLETED, run: 'none' });
  const { output, stdout, stderr } = recordOutput();

  await listRuns(session, output, { sort: 'score', limit: 2 });

  const [heading = '', first = '', second = '', ...more] = stdout().trim().split('\n');
  expect(heading).toContain('score');
  expect(first).toMatch(/^good .* arithmetic 0\.9 /);
  expect(second).toMatch(/^fair .* test bpb 0\.5 /);
  expect(more).toEqual([]);
  expect(stderr()).toContain('2 of 3 runs');
});

test('runs list says which runs are shown as the store last saw them, also where a server is configured', async () => {
  await store({ ...COMPLETED, run: 'open', status: 'running', closedAt: null });
  for (const [hasServer, why] of [
    [true, 'The Temporal server does not answer'],
    [false, 'No Temporal server is running'],
  ] as const) {
    const { output, stderr } = recordOutput();

    await listRuns({ ...session, hasServer }, output, {});

    expect(stderr()).toContain(why);
    expect(stderr()).toContain('as the store last saw them (open).');
  }
});

test('runs list --where is answered by the store where no server is, and says so', async () => {
  await store(
    { ...COMPLETED, run: 'good' },
    { scores: [score({ step: 100, value: 0.9, higherIsBetter: true })] },
  );
  await store({ ...COMPLETED, run: 'none' });
  const { output, stdout } = recordOutput({ json: true });

  await listRuns(session, output, { where: 'EverstepScore > 0.5 AND EverstepKind = "sft"' });

  const document = JSON.parse(stdout()) as { runs: { run: string }[]; answeredBy: string };
  expect(document.runs.map(({ run }) => run)).toEqual(['good']);
  expect(document.answeredBy).toBe('store');
  await expect(listRuns(session, output, { where: 'Score >' })).rejects.toMatchObject({ code: 'bad-config' });
});

test('runs checkpoints has the scores of each, once whichever schedules asked', async () => {
  const row = score({ step: 100, value: 0.9 });
  const checkpoint = {
    name: '000100',
    step: 100,
    batch: 100,
    epoch: 0,
    final: true,
    state_path: 'tinker://s',
  };
  await store(COMPLETED, {
    checkpoints: [{ ...checkpoint, sampler_path: null, elapsed_tokens: 1, lineage: 0, incarnation: 1 }],
    scores: [row, { ...row, schedule: 'other' }, score({ step: 50, value: 0.1 })],
  });
  const { output, stdout } = recordOutput({ json: true });

  await showCheckpoints(session.everstep.run('one'), output);

  const { checkpoints } = JSON.parse(stdout()) as { checkpoints: { step: number; scores: object[] }[] };
  expect(checkpoints).toMatchObject([{ step: 100, scores: [{ step: 100, value: 0.9 }] }]);
});

test('runs evaluations marks what is under way as partial', async () => {
  const cell = { step: 20, evaluator: 'sums', schedules: ['evaluators'], status: 'running' as const };
  const run = session.everstep.run('one');
  const records = createRunStore(root);
  await store({ ...STATE, step: 20 });
  const journal = path.join(records.cellFolder('one', 20, 'sums'), 'journal');
  await mkdir(journal, { recursive: true });
  const grades = [
    { key: 'a', value: 1 },
    { key: 'b', value: 0, error: 'the endpoint was away' },
    { key: 'b', value: 0 },
    { key: 'c', value: 1 },
    { key: 'd', value: 1 },
  ];
  await appendFile(
    path.join(journal, 'grades.jsonl'),
    grades.map((row) => `${JSON.stringify(row)}\n`).join(''),
  );
  const live = new RunHandle('one', {
    link: new FakeServer({
      'train/one': { status: 'RUNNING', answers: { status: LIVE, evaluations: [cell], scores: [] } },
    }).link,
    records,
  });
  const { output, stdout } = recordOutput();
  const away = recordOutput();
  const scores = recordOutput();

  await showEvaluations(live, output);
  await showEvaluations(run, away.output);
  await showScores(run, scores.output);

  expect(stdout()).toMatch(/20 +sums +evaluators +running +partial, 4 done: 0\.75 \[0\.3/);
  expect(away.stdout()).toMatch(/20 +sums +due +partial, 4 done: 0\.75 \[0\.3.*, nothing heard since 2/);
  expect(scores.stdout()).toMatch(/due: step 20, sums 0\.75 .*4 answers so far, nothing heard since 2/);
});

test('what the end of a run cut off stays listed as cancelled, with what measures it', async () => {
  await store({ ...STATE, step: 20, status: 'cancelled', closedAt: '2026-11-01T10:00:00.000Z' });
  const records = createRunStore(root);
  await mkdir(path.join(records.cellFolder('one', 10, 'sums'), 'journal'), { recursive: true });
  const row = { step: 0, evaluator: 'stuck', schedule: 'evaluators', metric: 'error', value: null, n: 0 };
  const ended = {
    ...row,
    key: 'stuck/error',
    stderr: null,
    higherIsBetter: null,
    at: '2026-11-01T10:00:00Z',
    error: 'cancelled',
  };
  await appendFile(path.join(records.runFolder('one'), 'scores.jsonl'), `${JSON.stringify(ended)}\n`);
  const [listed, scores] = [recordOutput(), recordOutput()];

  await showEvaluations(session.everstep.run('one'), listed.output);
  await showScores(session.everstep.run('one'), scores.output);

  expect(listed.stdout()).toMatch(/^0 +stuck +evaluators +cancelled +cut off: its run ended/m);
  expect(listed.stdout()).toMatch(/^10 +sums +cancelled +cut off: its run ended/m);
  expect(listed.stderr()).toContain('measured when the run goes on: npx everstep train --run one --continue');
  expect(scores.stdout()).toContain('step 0: stuck cancelled with its run');
  expect(scores.stdout()).not.toContain('failed');
});

test('a run whose workflow nobody hears is not said to be closed just now', async () => {
  await store({ ...STATE, step: 100 });
  const { output, stdout, stderr } = recordOutput();
  const environment = { dataFolder: root, store: root } as Session['environment'];

  await showRun(session.everstep.run('one'), { ...session, environment }, output);

  expect(stdout()).toMatch(/^status +running$/m);
  expect(stderr()).toMatch(/this is how the store last saw the run, at 2/);
});

test('a run that waited when it was heard of last is said to wait, until it went on', async () => {
  await store({ ...STATE, step: 100 });
  const records = createRunStore(root);
  const events = await records.openJournal('one', 'events', { epoch: 1 });
  const [at, later] = ['2026-11-01T10:00:00.000Z', '2026-11-01T10:05:00.000Z'];
  const text = 'the training service does not answer';
  events.append({ at, kind: 'waiting', step: 100, text });
  await events.close();

  const waiting = await session.everstep.run('one').status();
  const again = await records.openJournal('one', 'events', { epoch: 1 });
  again.append({ at: later, kind: 'opened', step: 100, text: 'the model was opened' });
  await again.close();
  const goesOn = await session.everstep.run('one').status();

  expect(waiting).toMatchObject({
    status: 'waiting',
    waitingFor: { what: text, since: at },
    source: 'store',
  });
  expect(goesOn).toMatchObject({ status: 'running', waitingFor: null });
});

test('runs list without runs says how to start one', async () => {
  const { output, stdout } = recordOutput();

  expect(await listRuns(session, output, {})).toBe(0);

  expect(stdout()).toBe('No runs. Start one with: npx everstep train CONFIG\n');
});

test('runs show --json has digest, rewinds, steps replayed, config and checkpoints', async () => {
  await store(COMPLETED, { checkpoints: [{ name: '000100', step: 100, final: true }] });
  await createRunStore(root).writeConfig('one', {
    run: 'one',
    config: { kind: 'sft' },
    renderer: 'everstep',
  });
  const { output, stdout } = recordOutput({ json: true });

  await showRun(session.everstep.run('one'), session, output);

  expect(JSON.parse(stdout())).toMatchObject({
    ...{ run: 'one', status: 'completed', finalWeightsDigest: 'abc', rewinds: 2, stepsReplayed: 7 },
    ...{ config: { kind: 'sft' }, renderer: 'everstep', engine: STATE.engine, checkpointCount: 1 },
    latestCheckpoint: { name: '000100' },
    folder: path.join(root, 'runs', 'one'),
  });
});

test('runs show without --json is one fact a line', async () => {
  await store(COMPLETED);
  const { output, stdout } = recordOutput();

  await showRun(session.everstep.run('one'), session, output);

  expect(stdout()).toContain('status          completed\n');
  expect(stdout()).toContain('rewinds         2, 7 steps trained again\n');
});

/** Wilson's of 50 in 100. */
const CI = [expect.closeTo(0.4038, 4), expect.closeTo(0.5962, 4)];

test('runs scores --json has the fixed keys', async () => {
  await store(COMPLETED, { scores: [score(), score({ metric: 'error', value: null, error: 'no luck' })] });
  const { output, stdout } = recordOutput({ json: true });

  await showScores(session.everstep.run('one'), output);

  const { schedule, evaluator, metric, step, value, stderr, n, higherIsBetter, at, key } = score();
  const row = { schedule, evaluator, metric, step, value, stderr, ci: CI, n, higherIsBetter, at, key };
  expect(JSON.parse(stdout())).toEqual({
    ...{ run: 'one', status: 'completed', step: 100, totalSteps: 100 },
    scores: [row, { ...row, metric: 'error', value: null, ci: null, error: 'no luck' }],
    partial: [],
    unfinished: [],
  });
});

test('runs scores escapes control characters of names', async () => {
  await store(COMPLETED, { scores: [score({ evaluator: 'evil\u001b[2J\u202e' })] });
  const { output, stdout } = recordOutput();

  await showScores(session.everstep.run('one'), output);

  expect(stdout()).toContain('evil\\x1b[2J\\u202e');
  expect(stdout()).not.toContain('\u001b');
});

test.each([
  [{}, [1, 2]],
  [{ from: 2 }, [2]],
  [{ to: 1 }, [1]],
  [{ last: 1 }, [2]],
  [{ last: 0 }, []],
  [{ last: 9 }, [1, 2]],
])('runs metrics %j', async (flags, steps) => {
  await store(COMPLETED, { metrics: METRICS });
  const { output, stdout } = recordOutput({ json: true });

  await showMetrics(session.everstep.run('one'), output, flags);

  const document = JSON.parse(stdout()) as { run: string; metrics: { step: number }[] };
  expect(document.run).toBe('one');
  expect(document.metrics.map(({ step }) => step)).toEqual(steps);
});

test('runs metrics --with-scores puts the scores of a step into its row', async () => {
  const failed = score({
    step: 1,
    metric: 'error',
    key: 'test/arithmetic/error',
    value: null,
    error: 'no luck',
  });
  await store(COMPLETED, { metrics: METRICS, scores: [score(), score({ step: 2, value: 0.75 }), failed] });
  const { output, stdout } = recordOutput({ json: true });

  await showMetrics(session.everstep.run('one'), output, { withScores: true });

  expect(JSON.parse(stdout())).toEqual({
    run: 'one',
    metrics: [
      { step: 0, 'test/arithmetic/accuracy': 0.5 },
      METRICS[0],
      { ...METRICS[1], 'test/arithmetic/accuracy': 0.75 },
    ],
  });
});

test('runs metrics --with-scores lets no evaluator take the name of another one or of the training', async () => {
  const own = (key: string) => score({ step: 1, evaluator: 'mine', metric: key, key, value: 99 });
  const scores = [score({ step: 1 }), own('test/arithmetic/accuracy'), own('train/nll'), own('own/metric')];
  await store(COMPLETED, { metrics: METRICS, scores });
  const { output, stdout } = recordOutput({ json: true });

  await showMetrics(session.everstep.run('one'), output, { withScores: true, to: 1 });

  const { metrics } = JSON.parse(stdout()) as { metrics: object[] };
  expect(metrics).toEqual([
    {
      ...METRICS[0],
      ...{ 'test/arithmetic/accuracy': 0.5, 'own/metric': 99 },
      ...{ 'test/arithmetic/accuracy (mine)': 99, 'train/nll (mine)': 99 },
    },
  ]);
});

test('runs metrics --columns shows metrics by name or pattern, --csv with all digits', async () => {
  await store(COMPLETED, { metrics: METRICS });
  const { output, stdout } = recordOutput();

  await showMetrics(session.everstep.run('one'), output, { columns: 'optim/*, train/nll', csv: true });

  expect(stdout()).toBe('step,optim/lr,train/nll\n1,0.001,2.5\n2,0.0005,\n');
  await expect(
    showMetrics(session.everstep.run('one'), recordOutput().output, { columns: 'nothing*' }),
  ).rejects.toThrow('no metric is named "nothing*". There are: train/nll, optim/lr.');
});

describe('rows that cannot be read', () => {
  async function damage(): Promise<string> {
    await store(COMPLETED, { metrics: METRICS, scores: [score()] });
    const folder = createRunStore(root).runFolder('one');
    // The last one may be about to be written.
    await appendFile(path.join(folder, 'metrics.jsonl'), '{"step":3,"train/n\n{"step":"4"}\n{"step":5,"tr');
    return `${path.join(folder, 'metrics.jsonl')} is damaged: 2 lines are left out (3, 4). Put the file back from a copy, if there is one.`;
  }

  test('are told by runs metrics, beside the rows', async () => {
    const told = await damage();
    const [text, json] = [recordOutput(), recordOutput({ json: true })];

    await showMetrics(session.everstep.run('one'), text.output, { columns: 'train/nll', csv: true });
    await showMetrics(session.everstep.run('one'), json.output, {});

    expect(text.stdout()).toBe('step,train/nll\n1,2.5\n2,\n');
    expect(text.stderr()).toContain(told);
    expect(JSON.parse(json.stdout())).toEqual({ run: 'one', metrics: METRICS, damaged: [told] });
  });

  test('are told by runs scores', async () => {
    const told = await damage();
    const [text, json] = [recordOutput(), recordOutput({ json: true })];

    await showScores(session.everstep.run('one'), text.output);
    await showScores(session.everstep.run('one'), json.output);

    expect(text.stderr()).toContain(told);
    expect(JSON.parse(json.stdout())).toMatchObject({ run: 'one', damaged: [told] });
  });

  test('are told by runs show, as is what is no file in its place', async () => {
    const told = await damage();
    await mkdir(path.join(createRunStore(root).runFolder('one'), 'events.jsonl'));
    const { output, stdout } = recordOutput({ json: true });

    await showRun(session.everstep.run('one'), session, output);

    expect(JSON.parse(stdout())).toMatchObject({
      damaged: [told, expect.stringContaining('events.jsonl is a directory where a file belongs') as string],
    });
  });
});

test('runs metrics refuses a first step after the last one', async () => {
  await store(COMPLETED);

  await expect(
    showMetrics(session.everstep.run('one'), recordOutput().output, { from: 50, to: 10 }),
  ).rejects.toMatchObject({ code: 'bad-config', message: expect.stringContaining('--from 50') as string });
});

describe('runs cancel', () => {
  const LINK_FLAGS = { output: recordOutput().output, signal: new AbortController().signal };
  const handleOf = (server: FakeServer) =>
    new RunHandle('one', { link: server.link, records: createRunStore(root) });

  test('refuses a run that has ended, and one that nobody knows', async () => {
    await store(COMPLETED);

    await expect(
      confirmEnding(session.everstep.run('one'), { flags: { yes: true }, ask: null }),
    ).rejects.toMatchObject({
      code: 'bad-config',
      message: expect.stringContaining('ended already') as string,
    });
    await expect(
      confirmEnding(session.everstep.run('two'), { flags: { yes: true }, ask: null }),
    ).rejects.toMatchObject({
      code: 'unknown-run',
    });
  });

  test('needs --yes where nobody can be asked, and yes where somebody can', async () => {
    await store(STATE);
    const handle = session.everstep.run('one');

    await expect(confirmEnding(handle, { flags: {}, ask: null })).rejects.toThrow(/--yes/);
    await expect(confirmEnding(handle, { flags: {}, ask: async () => false })).rejects.toThrow(
      /not cancelled/,
    );
    await expect(confirmEnding(handle, { flags: {}, ask: async () => true })).resolves.toBeUndefined();
  });

  test('waits until the run is closed', async () => {
    await store(STATE);
    const server = new FakeServer({ 'train/one': { status: 'RUNNING' } });

    expect(await cancelAndWait(handleOf(server), { ...LINK_FLAGS, flags: { reason: 'why' } })).toBe(0);

    expect(server.cancelled).toEqual([{ workflowId: 'train/one', reason: 'why' }]);
  });

  test('refuses a run of another server', async () => {
    await store(STATE);

    await expect(cancelAndWait(handleOf(new FakeServer()), { ...LINK_FLAGS, flags: {} })).rejects.toThrow(
      /cannot be cancelled.*another server/,
    );
  });
});

test.each([
  ['completed', 0],
  ['stopped', 0],
  ['failed', 1],
  ['cancelled', 1],
] as const)('runs watch of a run that %s ends with %i', async (status, code) => {
  await store(
    { ...COMPLETED, status, reason: 'because' },
    { scores: [score(), score({ step: 100, value: 0.96 })] },
  );
  const { output, stdout } = recordOutput();

  expect(await watchOneRun(session.everstep.run('one'), { hasServer: false }, output)).toBe(code);

  expect(stdout()).toContain('step 100: arithmetic accuracy 0.96 [0.862, 1.058] (n 100)');
  expect(stdout()).toContain(
    `Run one ${status} at step 100 of 100: because. Rewinds: 2, steps trained again: 7.`,
  );
});

test('runs watch of a run that nobody works on says so and ends', async () => {
  await store(STATE);
  const { output, stderr } = recordOutput();

  expect(await watchOneRun(session.everstep.run('one'), { hasServer: false }, output)).toBe(1);

  expect(stderr()).toContain('No Temporal server is running');
});

test('runs watch waits for a dev that is just starting', async () => {
  await store(STATE);
  let said = '';
  for (const stream of [process.stdout, process.stderr])
    jest.spyOn(stream, 'write').mockImplementation((text) => {
      said += String(text);
      return true;
    });
  const attempt = await takePidLock(stackPlaces(root).lock);

  const watching = watchWhenStarted('one', { dataDir: root, store: root });
  while (!said.includes('Waiting for the stack that is starting')) await delay(20);
  await createRunStore(root).writeState('one', COMPLETED);
  if ('lock' in attempt) attempt.lock.release();

  expect(await watching).toBe(0);
  expect(said).toContain('Run one completed');
  jest.restoreAllMocks();
});

test('an unknown run is refused with the known ones', async () => {
  await store(COMPLETED);

  await expect(showScores(session.everstep.run('nope'), recordOutput().output)).rejects.toMatchObject({
    code: 'unknown-run',
    message: 'Unknown run "nope". Known: one.',
  });
});
