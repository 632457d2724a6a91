import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createCommand as createCompare } from '../../../src/cli/commands/compare';
import { createCommand as createExport } from '../../../src/cli/commands/export';
import { createCommand as createResults } from '../../../src/cli/commands/results';
import { Everstep } from '../../../src/client/everstep';
import { EvalStore } from '../../../src/stores/eval-run-store';
import { ownIdentity } from '../../../src/stack/process-identity';
import { stackPlaces, writeStackRecord } from '../../../src/stack/stack-record';
import { IDENTITY } from '../client/some-identity';
import { rowsOf, storeBenchmark } from '../evaluation/compare/stored-results';

let store: string;
let stdout: string;

beforeEach(() => {
  store = mkdtempSync(join(tmpdir(), 'everstep-results-'));
  stdout = '';
  jest.spyOn(process.stdout, 'write').mockImplementation((text) => {
    stdout += String(text);
    return true;
  });
  storeBenchmark(join(store, 'evals', 'old'), 'gsm8k', { rows: rowsOf([1, 0, 0, 1]) });
  storeBenchmark(join(store, 'evals', 'new'), 'gsm8k', {
    rows: [...rowsOf([1, 1, 0]), { example_id: 'e3', reward: 0, error: 'timeout (300s)' }],
    identity: { graderVersion: 'exactMatch@2' },
    result: { num_errors: 1, num_completed: 3 },
  });
});

afterEach(() => {
  jest.restoreAllMocks();
  rmSync(store, { recursive: true, force: true });
});

async function compare(...words: readonly string[]): Promise<string> {
  await createCompare().parseAsync([...words, '--store', store], { from: 'user' });
  return stdout;
}

async function results(...words: readonly string[]): Promise<string> {
  await createResults().parseAsync([...words, '--store', store], { from: 'user' });
  return stdout;
}

test('compares as one document with exactly the fields that programs rely on', async () => {
  const document = JSON.parse(await compare('old', 'new', '--json')) as Record<string, unknown[]>;

  expect(Object.keys(document)).toEqual(['comparisons', 'warnings']);
  expect(Object.keys(document['comparisons']?.[0] as object)).toEqual([
    ...[
      'a',
      'b',
      'benchmark',
      'higherIsBetter',
      'n',
      'scoreA',
      'scoreB',
      'difference',
      'standardError',
      'z',
      'pValue',
    ],
    ...['pAdjusted', 'pDecision', 'interval', 'mcnemar', 'wins', 'losses', 'ties', 'verdict'],
  ]);
  expect(document['comparisons']).toMatchObject([{ a: 'old', b: 'new', n: 4, wins: 1, losses: 1, ties: 2 }]);
  expect(document['warnings']).toHaveLength(2);
});

test('puts the flipped examples into the document when they are asked for', async () => {
  const document = JSON.parse(await compare('old', 'new', '--json', '--flipped')) as {
    comparisons: { flipped: unknown }[];
  };

  expect(document.comparisons[0]?.flipped).toEqual([
    { exampleId: 'e1', scoreA: 0, scoreB: 1 },
    { exampleId: 'e3', scoreA: 1, scoreB: 0 },
  ]);
});

test('compares in words: scores, verdict, flips, warnings', async () => {
  const text = await compare('old', 'new', '--flipped', '1');

  expect(text).toMatch(/gsm8k +old +new +4 +0\.5 +0\.5 +0 \[-0\.8\d+, 0\.8\d+\] +1\.0 +1\.0 +1 \/ 1 \/ 2/);
  expect(text).toContain(
    'gsm8k, old against new: no difference can be told; 4 examples could have shown one of',
  );
  expect(text).toContain('2 examples flipped.');
  expect(text).toContain('e1       0        1');
  expect(text).toContain('… 1 more');
  expect(text).toContain('! gsm8k: graderVersion differs: old "exactMatch@1", new "exactMatch@2".');
});

test('compares as a table for a report, without a way out of its cells', async () => {
  storeBenchmark(join(store, 'evals', 'new'), 'a_b', { rows: rowsOf([1]) });
  storeBenchmark(join(store, 'evals', 'old'), 'a_b', {
    rows: rowsOf([1]),
    identity: { promptHash: 'x|y\n' },
  });

  const lines = (await compare('old', 'new', '--markdown', '--benchmark', 'a-b')).split('\n');

  expect(lines[0]).toMatch(/^\| benchmark \| A \| B \|.* verdict \|$/);
  expect(lines[2]).toBe(
    '| a_b | old | new | 1 | 1 | 1 | 0 | 1.0 | 1.0 | 0 / 0 / 1 | no example was scored differently |',
  );
  expect(lines[4]).toContain(String.raw`old "x\|y\n"`);
});

test('lists eval runs, the newest first', async () => {
  await new EvalStore(store).createRun({ modelName: 'm', runId: 'latest' });

  const document = JSON.parse(await results('list', '--json')) as { runs: { run: string }[] };

  expect(document.runs.map(({ run }) => run)).toEqual(['latest', 'new', 'old']);
  expect(document.runs[1]).toMatchObject({ run: 'new', scores: { gsm8k: 0.5 }, startedAt: null });
});

test('shows scores with their errors, counts and what they were made of', async () => {
  const text = await results('show', 'new');

  expect(text).toMatch(/gsm8k +0\.5 ± 0\.1 \[0\.2, 0\.8\] +0\.6667 +4 +3 +1 +0 +@1 0\.5 +2\.0/);
  expect(text).toContain(
    'grader exactMatch@2, sampling {"temperature":0,"maxTokens":8}, model everstep/tiny',
  );
});

test('shows results as one document', async () => {
  const document = JSON.parse(await results('show', 'new', '--json')) as { benchmarks: unknown[] };

  expect(document).toMatchObject({ run: 'new', dir: join(store, 'evals', 'new'), unfinished: [] });
  expect(document.benchmarks[0]).toMatchObject({
    ...{ name: 'gsm8k', score: 0.5, interval: [0.2, 0.8], numExamples: 4, numCompleted: 3, numErrors: 1 },
    ...{ passAtK: { '1': 0.5 }, identity: { graderVersion: 'exactMatch@2' } },
  });
});

test('refuses to show a folder without results', async () => {
  await expect(results('show', store)).rejects.toMatchObject({ code: 'bad-config' });
});

test.each([
  [['--errors'], ['e3']],
  [['--incorrect'], ['e2']],
  [['--correct'], ['e0', 'e1']],
  [['--truncated'], []],
  [['--unparsed'], []],
  [
    ['--flipped', 'old'],
    ['e1', 'e3'],
  ],
  [['--id', 'e2'], ['e2']],
  [
    ['--limit', '2'],
    ['e0', 'e1'],
  ],
])('shows trajectories chosen by %j', async (flags, expected) => {
  const text = await results('trajectories', 'new', 'gsm8k', ...flags, '--json');

  const document = JSON.parse(text) as { benchmark: string; trajectories: { example_id: string }[] };
  expect(document.benchmark).toBe('gsm8k');
  expect(document.trajectories.map(({ example_id }) => example_id)).toEqual(expected);
});

test('prints trajectories for a person, and says when there are more', async () => {
  const text = await results('trajectories', 'new', '--limit', '3');

  expect(text).toContain('gsm8k e2: reward 0, 1.0 s\n');
  expect(text).toContain('More than 3: --limit N shows N.');
  expect(text).not.toContain('timeout');
});

test('says of how many none was chosen', async () => {
  const text = await results('trajectories', 'old', '--incorrect', '--id', 'e0');

  expect(text).toBe('None of the 4 trajectories of gsm8k for --incorrect --id e0.\n');
});

test('asks for the benchmark where there are several, and refuses others', async () => {
  storeBenchmark(join(store, 'evals', 'new'), 'mbpp', { rows: rowsOf([1]) });

  await expect(results('trajectories', 'new')).rejects.toThrow(/several benchmarks: gsm8k, mbpp\. Name one/);
  await expect(results('trajectories', 'new', 'ifeval')).rejects.toThrow(
    /no benchmark ifeval\. It has: gsm8k, mbpp/,
  );
});

test('tells eval runs apart by benchmarks, status and how far they are', async () => {
  const begun = join(store, 'evals', 'begun', 'gsm8k', 'journal');
  mkdirSync(join(begun, 'shard-0'), { recursive: true });
  await new EvalStore(store).createRun({ modelName: 'm', runId: 'begun', checkpointName: 'sft@5' });
  const plan = { shards: [{}], exampleCount: 50, numSamples: 2, request: { maxExamples: 50 } };
  writeFileSync(join(begun, 'plan.json'), JSON.stringify(plan));
  const counts = { total: 100, done: 40, rewardSum: 10, rewardSquares: 10 };
  writeFileSync(join(begun, 'shard-0', 'progress.json'), JSON.stringify(counts));

  const { runs } = JSON.parse(await results('list', '--json')) as { runs: unknown[] };
  stdout = '';
  const text = await results('list');

  expect(runs).toMatchObject([
    {
      ...{ run: 'begun', checkpoint: 'sft@5', status: 'unfinished', done: 40, total: 100, scores: {} },
      cells: [{ benchmark: 'gsm8k', score: 0.25 }],
    },
    { run: 'new', status: 'partial', done: 4, total: 4, scores: { gsm8k: 0.5 } },
    { run: 'old', status: 'finished' },
  ]);
  expect(text).toMatch(/begun +gsm8k \(first 50\) +sft@5 +unfinished +40\/100 +0\.25 so far/);
});

test('shows no score so far of cut answers alone where no verdict could be read', async () => {
  const begun = join(store, 'evals', 'begun', 'facts', 'journal');
  mkdirSync(join(begun, 'shard-0'), { recursive: true });
  await new EvalStore(store).createRun({ modelName: 'm', runId: 'begun' });
  writeFileSync(join(begun, 'plan.json'), JSON.stringify({ shards: [{}], exampleCount: 120, numSamples: 1 }));
  const counts = { total: 120, done: 120, completedCount: 90, truncatedCount: 30, unreadCount: 90 };
  writeFileSync(
    join(begun, 'shard-0', 'progress.json'),
    JSON.stringify({ ...counts, rewardSum: 0, rewardSquares: 0 }),
  );

  expect(await results('list')).toMatch(/begun +facts +m +unfinished +120\/120 +– /);
});

test('says which benchmark of an eval run has no result, and what to do', async () => {
  const failed = join(store, 'evals', 'old', 'ifeval', 'journal');
  mkdirSync(failed, { recursive: true });
  writeFileSync(
    join(failed, 'plan.json'),
    JSON.stringify({ shards: [], exampleCount: 0, numSamples: 1, request: {} }),
  );

  const text = await results('list');

  expect(text).toMatch(/old +gsm8k, ifeval .* unfinished +4\/\? +0\.5, unfinished/);
  expect(text).toContain(
    'Give the command that began it again: it asks for what is missing, or says why it fails.',
  );
});

describe('judging again by a judge who does not listen', () => {
  const AWAY = ['--judge', 'other', '--judge-endpoint', 'http://127.0.0.1:1/v1'];
  const REFUSED =
    /^judge: The endpoint at http:\/\/127\.0\.0\.1:1\/v1 cannot be reached .*Nothing was started/;
  const home = () => join(store, 'home');
  const rejudge = (what: string, ...words: readonly string[]) =>
    results('rejudge', what, ...AWAY, '--data-dir', home(), ...words);

  test('is refused before anything is started', async () => {
    const journal = join(store, 'evals', 'asked', 'arena_hard', 'journal');
    const benchmark = 'arena_hard';
    const request = { run: 'asked', folder: dirname(dirname(journal)), benchmark, model: {} };
    const identity = { ...IDENTITY, judges: [] };
    mkdirSync(journal, { recursive: true });
    writeFileSync(join(journal, 'plan.json'), JSON.stringify({ benchmark, request, identity }));

    await expect(rejudge('asked')).rejects.toMatchObject({
      code: 'refused',
      message: expect.stringMatching(REFUSED) as string,
    });
    expect(existsSync(home())).toBe(false);
  });

  test('is refused of a training run at a step, and waits where cells are judged already', async () => {
    const run = join(store, 'runs', 'trained');
    const journal = join(run, 'evals', '2', 'graded', 'journal');
    mkdirSync(journal, { recursive: true });
    writeFileSync(join(journal, 'samples.jsonl'), '');
    const record = { config: { model: 'm', engine: {} }, evaluators: { graded: { type: 'modelGraded' } } };
    writeFileSync(join(run, 'config.json'), JSON.stringify(record));

    await expect(rejudge('trained@2')).rejects.toThrow(REFUSED);
    expect(existsSync(home())).toBe(false);

    const judged = join(store, 'evals', 'mine', 'graded', 'journal');
    const options = {
      folder: join(run, 'evals', '2'),
      judge: { model: 'other', endpoint: 'http://127.0.0.1:1/v1' },
      run: 'mine',
    };
    const everstep = await Everstep.connect({ temporal: null, store, dataFolder: home() });
    expect(await everstep.isRejudgingBegun(options)).toBe(false);
    mkdirSync(judged, { recursive: true });
    writeFileSync(join(judged, 'grades.jsonl'), '{"key":"a","value":1}\n');
    expect(await everstep.isRejudgingBegun(options)).toBe(true);
    await everstep.close();
  });
});

test('cancels nothing unasked', async () => {
  await expect(results('cancel', 'old')).rejects.toThrow('Repeat it with --yes');
});

test('starts nothing to cancel what no stack here was ever asked', async () => {
  const home = join(store, 'home');

  await expect(results('cancel', 'old', '--yes', '--data-dir', home)).rejects.toThrow(
    'Eval run "old" has nothing under way',
  );
  expect(existsSync(home)).toBe(false);
});

test('asks the stack of the demo, where that is the one that runs on this store', async () => {
  const home = join(store, 'home');
  const demo = join(home, 'demo');
  // Ends when it is asked, with its stack: one that lives is waited for.
  const server = createServer((socket) => {
    rmSync(stackPlaces(demo).record, { force: true });
    socket.destroy();
    server.close();
  });
  const port = await new Promise<number>((resolve) => {
    server.listen(0, '127.0.0.1', () => {
      resolve((server.address() as AddressInfo).port);
    });
  });
  writeStackRecord(demo, {
    ...ownIdentity(),
    ...{ ready: true, kind: 'dev', uiUrl: null, engineUrl: 'http://127.0.0.1:9', children: [], store },
    ...{ temporalAddress: `127.0.0.1:${port}`, namespace: 'everstep' },
  });
  writeFileSync(join(demo, 'temporal.db'), '');

  await expect(results('cancel', 'old', '--yes', '--data-dir', home)).rejects.toThrow(
    `No Temporal server answers at 127.0.0.1:${port}`,
  );
  expect(server.listening).toBe(false);
});

test('shows different examples before further samples of one', async () => {
  const rows = ['e0', 'e0', 'e1', 'e1'].map((example_id, index) => ({
    ...{ example_id, reward: 0, sample_index: index % 2 },
  }));
  storeBenchmark(join(store, 'evals', 'sampled'), 'gsm8k', { rows });

  const two = await results('trajectories', 'sampled', '--limit', '2');
  stdout = '';
  const all = await results('trajectories', 'sampled', '--limit', '4');

  const shown = (text: string) =>
    [...text.matchAll(/gsm8k (e\d) sample (\d)/g)].map(([, id, n]) => `${id}.${n}`);
  expect(shown(two)).toEqual(['e0.0', 'e1.0']);
  expect(shown(all)).toEqual(['e0.0', 'e1.0', 'e0.1', 'e1.1']);
});

test('writes the chosen examples as a page for a browser', async () => {
  const file = join(store, 'page.html');

  const text = await results('trajectories', 'old', '--incorrect', '--html', file);

  expect(text).toBe(`Written: ${file}\n`);
  const page = readFileSync(file, 'utf8');
  expect(page).toContain('<title>old, gsm8k</title>');
  expect(page.match(/<h2>Group \d: e\d/g)).toEqual(['<h2>Group 0: e1', '<h2>Group 1: e2']);
});

test('of results that are not finished it says what is to be done', async () => {
  mkdirSync(join(store, 'evals', 'begun', 'gsm8k', 'journal'), { recursive: true });

  await expect(results('show', 'begun')).rejects.toThrow(
    /has no results\. Not finished: gsm8k\. .*give the command that began it again/,
  );
});

test('of a step with losses alone it shows those', async () => {
  const cell = join(store, 'runs', 'sft', 'evals', '20', 'test');
  mkdirSync(join(cell, 'journal'), { recursive: true });
  const score = { metric: 'nll', key: 'test/nll', value: 1.25, n: 40, ci: [1.1, 1.4], higherIsBetter: false };
  writeFileSync(join(cell, 'cell.json'), JSON.stringify({ scores: [score] }));
  writeFileSync(join(cell, 'journal', 'likelihoods.jsonl'), '');

  expect(await results('show', 'sft@20')).toMatch(/test\/nll\s+1\.25\s+\[1\.1, 1\.4\]\s+40/);

  writeFileSync(join(cell, 'cell.json'), '{"scores":[null]}');
  await expect(results('show', 'sft@20')).rejects.toThrow(/test\/cell\.json cannot be read/);
});

/** What a benchmark leaves whose examples all failed: their trajectories, and no result. */
function failAll(run: string, benchmark: string): void {
  storeBenchmark(join(store, 'evals', run), benchmark, {
    rows: ['e0', 'e1'].map((id) => ({ example_id: id, reward: 0, error: 'the grader is broken' })),
  });
  rmSync(join(store, 'evals', run, benchmark, 'result.json'));
}

test('what failed is said to have failed, with its reason', async () => {
  failAll('new', 'ifeval');

  expect(await results('show', 'new')).toContain(
    'ifeval failed: all 2 examples failed, the first with: the grader is broken.',
  );
});

test('a comparison says why a side has no result to compare', async () => {
  failAll('broken', 'ifeval');
  failAll('old', 'ifeval');
  const reason = 'ifeval failed: all 2 examples failed, the first with: the grader is broken.';

  await expect(compare('new', 'broken')).rejects.toMatchObject({
    code: 'bad-config',
    message: expect.stringContaining(`ifeval (not finished). broken: ${reason}`) as string,
  });
  const { warnings } = JSON.parse(await compare('old', 'new', '--json')) as { warnings: string[] };
  expect(warnings).toContain(`old has not finished ifeval (no result.json): not compared. ${reason}`);
});

test('of a training run at a step, what failed there is told with its reason, and what is due as such', async () => {
  const runFolder = join(store, 'runs', 'sft');
  const begun = (evaluator: string) =>
    mkdirSync(join(runFolder, 'evals', '20', evaluator, 'journal'), { recursive: true });
  begun('slow');
  begun('broken');
  const failed = {
    step: 20,
    schedule: 's',
    evaluator: 'broken',
    at: '2026-01-02T03:04:05.000Z',
    metric: 'error',
  };
  writeFileSync(
    join(runFolder, 'scores.jsonl'),
    `${JSON.stringify({ ...failed, key: 'broken/error', value: null, stderr: null, n: 0, error: 'no luck' })}\n`,
  );

  const state = {
    ...{
      run: 'sft',
      kind: 'sft',
      model: 'm',
      status: 'running',
      step: 20,
      totalSteps: 40,
      workflowId: 'sft',
    },
    ...{ startedAt: failed.at, closedAt: null, engine: 'http://127.0.0.1:1', lineage: 0, rewinds: 0 },
    ...{ stepsReplayed: 0, finalWeightsDigest: null },
  };
  writeFileSync(join(runFolder, 'state.json'), JSON.stringify(state));

  const said = /slow waits: its evaluation is due; `everstep runs evaluations sft` lists it\./;
  await expect(results('show', 'sft@20')).rejects.toThrow(said);
  await expect(compare('new', 'sft@20')).rejects.toThrow(said);
  await expect(compare('new', 'sft@20')).rejects.toThrow('sft@20: broken failed: no luck.');
});

test('an export to Inspect says what failed, and refuses where nothing else is there', async () => {
  failAll('new', 'ifeval');
  failAll('broken', 'ifeval');
  let stderr = '';
  jest.spyOn(process.stderr, 'write').mockImplementation((text) => {
    stderr += String(text);
    return true;
  });
  const exportTo = (run: string) =>
    createExport().parseAsync(['inspect', run, '--output', join(store, 'logs'), '--store', store], {
      from: 'user',
    });

  await exportTo('new');

  expect(stderr).toContain(
    'Left out. ifeval failed: all 2 examples failed, the first with: the grader is broken.',
  );
  await expect(exportTo('broken')).rejects.toMatchObject({
    code: 'bad-config',
    message: expect.stringMatching(/has nothing to export\. ifeval failed: all 2 examples/) as string,
  });
});
