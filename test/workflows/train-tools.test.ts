import { execFileSync } from 'node:child_process';
import { copyFileSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { RunRollouts } from '../../src/client/run-rollouts';
import { loadTrainingConfig } from '../../src/config/load-config';
import type { ReinforcementConfig } from '../../src/config/reinforcement-config';
import type { Message } from '../../src/core/conversation';
import { messageText } from '../../src/evaluation/runner/message-text';
import { ReinforcementRuns } from './harness/reinforcement-runs';
import { HeldTraining } from './harness/held-training';
import { reportOf, TestRuns } from './harness/runs';
import { TestStack } from './harness/stack';
import { WorkerProcess } from './harness/worker-process';

/**
 * The runs of examples/tool-use, with so few places that `everstep/tiny` soon knows by heart what to ask and to answer; in
 * test/deep it learns to of any place.
 */
const EXAMPLE = resolve(__dirname, '../../examples/tool-use');
const LESSONS = 8;

interface Lesson {
  readonly messages: readonly { readonly role: string; readonly content: string | null }[];
  readonly tools: readonly object[];
}

let training: HeldTraining;
let stack: TestStack;
let runs: ReinforcementRuns;
let supervised: TestRuns;
let lessons: readonly Lesson[];

beforeAll(async () => {
  training = await HeldTraining.create();
  stack = await TestStack.start({ runtime: training });
  runs = new ReinforcementRuns(stack);
  supervised = new TestRuns(stack);
  await stack.startWorkers();
  execFileSync(process.execPath, [join(EXAMPLE, 'make-data.js'), stack.folder]);
  lessons = rowsOf<Lesson>('demonstrations.jsonl').slice(0, LESSONS);
  writeRows('documents.jsonl', lessons.flatMap(documentsOf));
  writeRows('questions.jsonl', lessons.map(questionOf));
  await supervised.train(
    'shown',
    supervised.config({ ...lessonOf('lessons.jsonl', lessons), batchSize: 8, steps: 100 }),
  );
});

afterAll(async () => {
  training.letAllGo();
  await stack.stop();
});

function writeRows(name: string, rows: readonly object[]): string {
  const path = join(stack.folder, name);
  writeFileSync(path, rows.map((row) => `${JSON.stringify(row)}\n`).join(''));
  return path;
}

function lessonOf(name: string, rows: readonly object[]) {
  const dataset = { path: writeRows(name, rows) };
  return { dataset, learningRate: 0.003, lrSchedule: 'constant', loraRank: 0, saveEvery: 100 };
}

function documentsOf({ messages }: Lesson): object[] {
  return messages.flatMap(({ content }) => {
    const [, title, text] = /Document 1: (\w+)\n(.*)$/.exec(content ?? '') ?? [];
    return title ? [{ title, text }] : [];
  });
}

function questionOf({ messages }: Lesson): object {
  const answer = messages.at(-1)?.content?.replace('Answer: ', '');
  return { question: messages[0]?.content, answer, data_source: messages.length > 4 ? 'two' : 'one' };
}

const BATCH = { groupsPerBatch: LESSONS / 2, groupSize: 4 };
const PLAYED = BATCH.groupsPerBatch * BATCH.groupSize;

async function search(more: Partial<ReinforcementConfig> = {}): Promise<ReinforcementConfig> {
  copyFileSync(join(EXAMPLE, 'search.yaml'), join(stack.folder, 'search.yaml'));
  const config = await loadTrainingConfig({ file: join(stack.folder, 'search.yaml') });
  if (config.kind !== 'rl' || config.environment.type !== 'search') throw new Error('no search is played');
  const environment = { ...config.environment, testSize: LESSONS / 2 };
  return {
    ...config,
    ...BATCH,
    environment,
    initialCheckpoint: 'shown@100',
    steps: 2,
    evalEvery: 2,
    ...more,
  };
}

interface Played {
  readonly messages: readonly Message[];
  readonly reward: number;
}

/** All rollouts that a run has journalled to train on. */
function playedIn(run: string): Played[] {
  const rows = Object.values(runs.rollouts(run)).flatMap((text) => text.trimEnd().split('\n'));
  return rows
    .map((row) => JSON.parse(row) as Played & { kind: string })
    .filter(({ kind }) => kind === 'rollout');
}

const rowsOf = <Row>(name: string): Row[] =>
  readFileSync(join(stack.folder, name), 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Row);

const textsOf = (role: string, { messages }: Played) =>
  messages.filter((message) => message.role === role).map(messageText);
const callsOf = ({ messages }: Played) => messages.flatMap(({ toolCalls = [] }) => toolCalls);
const isError = (content: string) => content.startsWith('{"error":');
const meanOf = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;

test('a model that is sampled calls the tool, reads the documents, and earns what its answers are worth', async () => {
  const report = await runs.train('found', await search());

  const played = playedIn('found');
  const metrics = await stack.store.readMetrics('found');
  const documents = new Map(
    rowsOf<{ title: string; text: string }>('documents.jsonl').map(({ title, text }) => [title, text]),
  );
  const answers = new Map(
    rowsOf<{ question: string; answer: string }>('questions.jsonl').map((row) => [row.question, row.answer]),
  );
  expect(report).toMatchObject({ status: 'completed', step: 2 });
  expect(played).toHaveLength(2 * PLAYED);
  // What the tool said is what the documents say.
  const found = played.flatMap((one) => textsOf('tool', one)).filter((text) => text.includes('Document 1'));
  expect(found.length).toBeGreaterThan(played.length / 2);
  for (const text of found) {
    const [, title = '', content] = /\nDocument 1: (\w+)\n(.*)$/.exec(text) ?? [];
    expect(content).toBe(documents.get(title));
  }
  // Calls of one reply are answered in their order.
  const pairs = played.flatMap(({ messages }) =>
    messages.flatMap(({ toolCalls = [] }, index) =>
      toolCalls.length === 2 ? [{ toolCalls, said: messages.slice(index + 1, index + 3) }] : [],
    ),
  );
  expect(pairs.length).toBeGreaterThan(0);
  for (const { toolCalls, said } of pairs) {
    expect(said.map(({ role }) => role)).toEqual(['tool', 'tool']);
    expect(said.map(({ name }) => name)).toEqual(toolCalls.map(({ name }) => name));
  }
  // Rewards are those of the answers.
  const right = played.filter((one) => {
    const [question = ''] = textsOf('user', one);
    return textsOf('assistant', one).at(-1) === `Answer: ${answers.get(question) ?? 'none'}`;
  });
  expect(right.length).toBeGreaterThan(0);
  expect(played.filter(({ reward }) => reward > 0.5)).toEqual(right);
  for (const [index, row] of metrics.entries()) {
    const ofStep = played.slice(PLAYED * index, PLAYED * (index + 1));
    expect(row['env/all/tool_calls']).toBeCloseTo(meanOf(ofStep.map((one) => callsOf(one).length)), 9);
    expect(row['env/all/reward/total']).toBeCloseTo(meanOf(ofStep.map(({ reward }) => reward)), 9);
    expect(row).toHaveProperty(['env/one/reward/total']);
    expect(row).toHaveProperty(['env/two/reward/total']);
  }
  expect(
    metrics.flatMap((row) => Object.keys(row).filter((key) => key.startsWith('rollout_errors'))),
  ).toEqual([]);
});

test('the offline evaluation counts the questions kept apart, and its rollouts can be read', async () => {
  const rollouts = new RunRollouts('found', stack.store);

  for (const step of [0, 2]) {
    const { groups, totals } = await rollouts.readEvaluation('environments', { step });

    const correct = groups.filter((group) => group.rollouts.some(({ reward }) => reward === 1));
    expect(totals).toEqual({
      total_samples: LESSONS / 2,
      total_correct: correct.length,
      accuracy: expect.closeTo(correct.length / (LESSONS / 2), 9) as number,
    });
    expect(correct.length).toBeGreaterThan(0);
  }
});

test('goes on bit by bit when its worker is killed while tools are called', async () => {
  const calm = await runs.outcome('found');
  await stack.stopWorkers();

  // In the middle of a step, or of the evaluation before it: each rollout is drawn at least twice.
  const draws = training.holdDraws(PLAYED);
  const handle = await runs.start('killed', await search());
  const worker = WorkerProcess.start(stack);
  await draws.held(1);
  await worker.kill();
  training.letAllGo();
  await stack.startWorkers();
  await reportOf(handle);

  expect(await runs.outcome('killed')).toEqual(calm);
});

/** Three bad manners in turns: an argument of the wrong type, a tool that is not there, and a call that is none. */
function mistakes(): object[] {
  return lessons.map(({ messages: [question], tools }, index) => {
    const place = question?.content?.slice(0, 4);
    const badCalls = [
      { content: '', tool_calls: [{ name: 'search', arguments: { query_list: place } }] },
      { content: '', tool_calls: [{ name: 'find', arguments: { query_list: [place] } }] },
      { content: `<|call|>search ${place}` },
    ];
    return { messages: [question, { role: 'assistant', ...badCalls[index % 3] }], tools };
  });
}

test('what a call has wrong is told to the model, and costs no rollout', async () => {
  const lesson = lessonOf('mistakes.jsonl', mistakes());
  await supervised.train(
    'careless',
    supervised.config({ ...lesson, batchSize: 8, steps: 30, initialCheckpoint: 'shown@100' }),
  );
  const short = { steps: 1, evalEvery: 0, evaluators: [] };
  await runs.train('mistaken', await search({ ...short, initialCheckpoint: 'careless@30' }));

  const played = playedIn('mistaken');
  const [metrics = {}] = await stack.store.readMetrics('mistaken');
  const errors = played.map((one) => textsOf('tool', one).filter(isError));
  const corrections = played.flatMap((one) => textsOf('user', one).slice(1));
  expect(played).toHaveLength(PLAYED);
  expect(errors.flat()).toContain(`{"error":"Tool 'find' not found"}`);
  expect(errors.flat().join('\n')).toContain('expected array, received string');
  expect(metrics).toMatchObject({
    'env/all/tool_errors': expect.closeTo(meanOf(errors.map(({ length }) => length)), 9) as number,
    'env/all/parse_error': expect.any(Number) as number,
  });
  expect(corrections.length).toBeGreaterThan(0);
  for (const text of corrections) {
    expect(text).toMatch(/^The previous message had a formatting issue\.\nError: Invalid JSON/);
  }
  expect(Object.keys(metrics).filter((key) => key.startsWith('rollout_errors'))).toEqual([]);
});
