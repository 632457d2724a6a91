import { mkdir, mkdtemp, readdir, readFile, rm, utimes } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { shellWord } from '../../../../src/core/shell-word';
import { exportInspectLogs } from '../../../../src/evaluation/inspect/export/export-logs';
import { importInspectLog } from '../../../../src/evaluation/inspect/import-log';
import { openInspectLog } from '../../../../src/evaluation/inspect/log/read-log';
import { ZipMembers } from '../../../../src/evaluation/inspect/log/zip-members';
import type { LoggedSample } from '../../../../src/evaluation/inspect/log/log-schema';
import type { StoredResult, StoredTrajectory, StoredTurn } from '../../../../src/stores/eval-store';
import { loadTrajectories, writeBenchmark } from '../../../../src/stores/eval-store';

const RESULT: StoredResult = {
  name: 'sums_small',
  score: 0.25,
  stderr: 0.2,
  ci: [0.05, 0.7],
  score_completed: 0.5,
  num_examples: 4,
  num_completed: 2,
  num_correct: 1,
  num_errors: 1,
  num_truncated: 1,
  metrics: {},
  time_seconds: 3,
  pass_at_k: { '1': 0.25 },
  identity: {
    benchmarkVersion: 1,
    dataHash: 'data',
    promptHash: 'prompt',
    graderVersion: 'numericAnswer@2',
    sampling: { maxTokens: 8, temperature: 0, topP: 1, contextWindow: 64 },
    model: 'everstep/tiny',
    checkpoint: 'run@3',
  },
};

function trajectory(idx: number, changes: Partial<StoredTrajectory>): StoredTrajectory {
  return {
    idx,
    benchmark: RESULT.name,
    example_id: `sum/${idx}`,
    turns: [
      { role: 'user', content: `${idx}+1=`, token_count: 4, metadata: {} },
      { role: 'assistant', content: 'two', token_count: 2, metadata: { stop_reason: 'stop' } },
    ],
    reward: 0,
    metrics: { correct: 0 },
    logs: { example_id: `sum/${idx}`, target: '2', answer: 'two' },
    error: null,
    time_seconds: 0.5,
    ...changes,
  };
}

const TRAJECTORIES = [
  trajectory(0, { reward: 1, metrics: { correct: 1 } }),
  trajectory(1, {}),
  trajectory(2, { error: 'the engine failed', turns: [] }),
  trajectory(3, { example_id: '../up\\over', metrics: { correct: 0, max_tokens_reached: 1 } }),
];

let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'everstep-inspect-export-'));
  await writeBenchmark(path.join(folder, 'from', RESULT.name), RESULT, TRAJECTORIES);
  const at = new Date('2026-03-01T12:00:03Z');
  await utimes(path.join(folder, 'from', RESULT.name, 'result.json'), at, at);
});
afterEach(async () => {
  await rm(folder, { recursive: true, force: true });
});

function exported(to = 'logs') {
  return exportInspectLogs({ folder: path.join(folder, 'from'), benchmark: null }, path.join(folder, to));
}

async function samplesOf(file: string): Promise<LoggedSample[]> {
  const log = await openInspectLog(file);
  const samples: LoggedSample[] = [];
  for await (const sample of log.samples()) samples.push(sample);
  log.close();
  return samples;
}

test('writes one log a benchmark, under a name that Inspect reads task and id from', async () => {
  const { logs } = await exported();

  expect(logs).toEqual([
    expect.objectContaining({ benchmark: 'sums_small', sampleCount: 4, malformedCount: 0 }),
  ]);
  expect(await readdir(path.join(folder, 'logs'))).toEqual([
    expect.stringMatching(/^2026-03-01T12-00-00-00-00_sums-small_[A-Za-z0-9]{22}\.eval$/),
  ]);
});

test('the log has the score, what it was made of, and each sample as it went', async () => {
  const { logs } = await exported();
  const file = logs[0]?.path ?? '';
  const log = await openInspectLog(file);
  const samples = await samplesOf(file);
  log.close();

  expect(log.header).toMatchObject({
    status: 'success',
    eval: { task: 'sums_small', model: 'everstep/tiny' },
  });
  expect(log.header.results).toMatchObject({ total_samples: 4, completed_samples: 3 });
  expect(log.header.results?.scores[0]).toMatchObject({
    name: 'numericAnswer',
    scored_samples: 3,
    unscored_samples: 1,
    metrics: { accuracy: { value: 0.25 }, stderr: { value: 0.2 } },
  });
  expect(samples[0]).toMatchObject({
    id: 'sum/0',
    input: '0+1=',
    target: '2',
    scores: { numericAnswer: { value: 1, answer: 'two' } },
    model_usage: { 'everstep/tiny': { input_tokens: 4, output_tokens: 2 } },
  });
  expect(samples[2]).toMatchObject({ error: { message: 'the engine failed' }, scores: {} });
  expect(samples[3]?.output?.choices[0]?.stop_reason).toBe('max_tokens');
});

test('a name that would leave the archive is made harmless', async () => {
  const { logs } = await exported();

  const ids = (await samplesOf(logs[0]?.path ?? '')).map(({ id }) => id);

  expect(ids[3]).toBe('--up-over');
});

test('exporting twice gives the same bytes', async () => {
  const [first, second] = [await exported('one'), await exported('two')];

  const contents = await Promise.all([first, second].map(({ logs }) => readFile(logs[0]?.path ?? '')));

  expect(contents[0]?.equals(contents[1] ?? Buffer.alloc(0))).toBe(true);
});

test('a log read back has the score and the samples that it was written from', async () => {
  const { logs } = await exported();

  const result = await importInspectLog(logs[0]?.path ?? '', path.join(folder, 'back'));

  expect(result).toMatchObject({
    score: 0.25,
    stderr: 0.2,
    num_examples: 4,
    num_errors: 1,
    num_truncated: 1,
  });
  const back = await loadTrajectories(path.join(folder, 'back'), result.name);
  expect(back.map(({ reward, error }) => [reward, error])).toEqual(
    TRAJECTORIES.map(({ reward, error }) => [reward, error]),
  );
});

interface ReadSample {
  readonly choices?: readonly string[];
  readonly messages: readonly { readonly role: string; readonly tool_call_id?: string }[];
  readonly events: readonly Readonly<Record<string, unknown>>[];
  readonly events_data: { readonly messages: readonly { readonly content: string }[] };
}

/** As it lies in the archive, with what we ourselves do not read. */
async function writtenSample(turns: StoredTurn[], logs: StoredTrajectory['logs'] = {}): Promise<ReadSample> {
  const place = path.join(folder, 'from', RESULT.name);
  await writeBenchmark(place, RESULT, [
    { ...trajectory(0, { reward: 1 }), turns, logs: { target: '2', ...logs } },
  ]);
  const { logs: written } = await exported('transcript');
  const members = await ZipMembers.open(written[0]?.path ?? '', { members: 10, memberBytes: 1_000_000 });
  const name = members.names.find((each) => each.startsWith('samples/')) ?? '';
  const text = await members.read(name);
  members.close();
  return JSON.parse(text ?? '') as ReadSample;
}

function turn(role: StoredTurn['role'], content: string, metadata = {}): StoredTurn {
  return { role, content, token_count: 1, metadata };
}

test('the transcript has each answer with what the model had read, what tools said, and the score', async () => {
  const call = (id: string) => ({ id, name: 'add', arguments: '{"x":1}' });
  const sample = await writtenSample([
    turn('user', 'add them'),
    turn('assistant', '', { tool_calls: [call('c1'), call('c2')] }),
    turn('environment', 'two', { role: 'tool', name: 'add' }),
    turn('environment', 'three', { role: 'tool', tool_call_id: 'c2' }),
    turn('assistant', 'five', { stop_reason: 'stop' }),
    turn('grader', 'well done'),
  ]);

  expect(sample.events.map(({ event }) => event)).toEqual([
    ...['sample_init', 'model', 'tool', 'tool', 'model', 'score'],
  ]);
  expect(sample.events[1]).toMatchObject({ input_refs: [[0, 1]], config: { temperature: 0 } });
  expect(sample.events[2]).toMatchObject({ id: 'c1', function: 'add', arguments: { x: 1 }, result: 'two' });
  expect(sample.events[3]).toMatchObject({ id: 'c2', function: 'add', result: 'three' });
  expect(sample.events[4]).toMatchObject({ input_refs: [[0, 4]], output: { completion: 'five' } });
  expect(sample.events[5]).toMatchObject({ scorer: 'numericAnswer', score: { explanation: 'well done' } });
  expect(sample.events_data.messages.map(({ content }) => content)).toEqual([
    ...['add them', '', 'two', 'three', 'five'],
  ]);
  expect(sample.messages.map(({ tool_call_id: answered }) => answered)).toEqual([
    ...[undefined, undefined, 'c1', 'c2', undefined],
  ]);
});

test('usage has every prompt, and the metadata why the environment ended', async () => {
  const turns = [
    turn('user', 'add them'),
    turn('assistant', ''),
    turn('environment', 'two', { role: 'tool' }),
    turn('assistant', '', { prompt_tokens: 9 }),
  ];

  const sample = await writtenSample(turns, { stop_reason: 'max_turns' });

  expect(sample).toMatchObject({
    model_usage: { 'everstep/tiny': { input_tokens: 10, output_tokens: 2, total_tokens: 12 } },
    metadata: { stop_reason: 'max_turns' },
  });
});

test('an answer belongs to the call before it, also where each turn numbers its calls anew', async () => {
  const call = (x: number) => ({ id: 'call_0', name: 'add', arguments: `{"x":${x}}` });
  const sample = await writtenSample([
    turn('user', 'add them', { role: 'user' }),
    turn('assistant', '', { role: 'assistant', tool_calls: [call(1)] }),
    turn('environment', 'one', { role: 'tool', tool_call_id: 'call_0' }),
    turn('assistant', '', { role: 'assistant', tool_calls: [call(2)] }),
    turn('environment', 'two', { role: 'tool', tool_call_id: 'call_0' }),
  ]);

  expect(sample).toMatchObject({ input: 'add them' });
  expect(sample.events.filter(({ event }) => event === 'tool')).toMatchObject([
    { arguments: { x: 1 }, result: 'one' },
    { arguments: { x: 2 }, result: 'two' },
  ]);
});

test('arguments that are no JSON object stand beside the call as what the model wrote', async () => {
  const sample = await writtenSample([
    turn('user', 'add them'),
    turn('assistant', '', { tool_calls: [{ id: 'c1', name: 'add', arguments: '{"x":' }] }),
  ]);

  expect(sample.messages[1]).toMatchObject({
    tool_calls: [{ id: 'c1', arguments: {}, parse_error: 'Arguments that are no JSON object: {"x":' }],
  });
});

test('calls that an earlier version wrote as words are exported as words', async () => {
  const sample = await writtenSample([
    turn('user', 'add them', { role: 'user' }),
    turn('assistant', '[calls add({})]', { role: 'assistant' }),
    turn('environment', 'two', { role: 'tool' }),
  ]);

  expect(sample.messages).toMatchObject([
    { role: 'user' },
    { role: 'assistant', content: '[calls add({})]' },
    { role: 'tool', content: 'two' },
  ]);
  expect(sample.messages[1]).not.toHaveProperty('tool_calls');
});

test('instructions are no question, and choices are those of the sample', async () => {
  const sample = await writtenSample(
    [turn('user', 'be brief', { role: 'system' }), turn('user', 'which?'), turn('assistant', 'B')],
    { choices: ['one', 'two'] },
  );

  expect(sample).toMatchObject({ input: 'which?', choices: ['one', 'two'] });
  expect(sample.messages.map(({ role }) => role)).toEqual(['system', 'user', 'assistant']);
});

test('a verdict that could not be read is unscored, and in no mean', async () => {
  const unread = trajectory(3, { metrics: { unparsed: 1 }, logs: { explanation: 'I cannot say.' } });
  const result = { ...RESULT, score: 1 / 3, metrics: { num_unparsed: 1 } };
  await writeBenchmark(path.join(folder, 'from', RESULT.name), result, [...TRAJECTORIES.slice(0, 3), unread]);

  const { logs } = await exported();
  const file = logs[0]?.path ?? '';
  const log = await openInspectLog(file);
  log.close();

  expect(log.header.results?.scores[0]).toMatchObject({
    scored_samples: 2,
    unscored_samples: 2,
    metrics: { accuracy: { value: 1 / 3 }, num_unparsed: { value: 1 } },
  });
  expect((await samplesOf(file))[3]).toMatchObject({ scores: {} });
});

test('of several samples the metric is a mean over questions, however many verdicts could be read', async () => {
  const draw = (idx: number, sample: number, reward: number | null) =>
    trajectory(idx, {
      ...{ example_id: idx < 2 ? 'a' : 'b', sample_index: sample, reward: reward ?? 0 },
      metrics: { correct: reward ?? 0, unparsed: Number(reward === null) },
    });
  // Of a 1 and 1, of b 0 alone: 0.5, where the mean over samples is 2/3.
  const rows = [draw(0, 0, 1), draw(1, 1, 1), draw(2, 0, 0), draw(3, 1, null)];
  await writeBenchmark(path.join(folder, 'from', RESULT.name), { ...RESULT, score: 0.5 }, rows);

  const { logs } = await exported();
  const log = await openInspectLog(logs[0]?.path ?? '');
  log.close();

  expect(log.header.results?.scores[0]).toMatchObject({
    ...{ reducer: 'mean', scored_samples: 3, unscored_samples: 1 },
    metrics: { accuracy: { value: 0.5 } },
  });
});

test('an example that failed ends with its error', async () => {
  const { logs } = await exported();
  const members = await ZipMembers.open(logs[0]?.path ?? '', { members: 100, memberBytes: 1_000_000 });
  const sample = JSON.parse((await members.read('samples/sum/2_epoch_1.json')) ?? '') as ReadSample;
  members.close();

  expect(sample.events.at(-1)).toMatchObject({ event: 'error', error: { message: 'the engine failed' } });
});

test('a folder without results is refused with what to name', async () => {
  await expect(exportInspectLogs({ folder, benchmark: 'none' }, path.join(folder, 'logs'))).rejects.toThrow(
    'no finished benchmark',
  );
});

test('what Inspect ran itself is told with where its own logs are', async () => {
  const own = path.join(folder, 'from', 'inspect', 'inspect');
  await mkdir(path.join(own, 'digest', 'attempt-1'), { recursive: true });

  const { logs, ranByInspect } = await exported();

  expect(logs).toHaveLength(1);
  expect(ranByInspect).toEqual([{ name: 'inspect', folder: own }]);
  await rm(path.join(folder, 'from', RESULT.name), { recursive: true });
  await expect(exported()).rejects.toThrow(`inspect view --log-dir ${shellWord(own)}`);
});
