import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Everstep } from '../../src/client/everstep';
import type { Judgement } from '../../src/evaluation/judges/judgements';
import { loadResult, streamTrajectories } from '../../src/stores/eval-store';
import { readJsonLines } from '../../src/stores/json-lines';
import { JudgeEndpoint } from './harness/judge-endpoint';
import { TestRuns, until } from './harness/runs';
import { TestStack } from './harness/stack';
import { WorkerProcess } from './harness/worker-process';

const QUESTIONS = 12;
const CONCURRENCY = 8;

let stack: TestStack;
let everstep: Everstep;
let data: string;
let endpoint: JudgeEndpoint;

/** In game 2 the evaluated model is A. */
const isSecondGame = (prompt: string) => prompt.includes("A's Answer|>\nanswer to");

/** The candidate answers; `fan` prefers it, `first` whoever is first, `mute` says nothing of use. */
function say(model: string, prompt: string): string {
  if (model === 'candidate') return `answer to ${prompt}`;
  if (model === 'mute') return 'Hard to say.';
  if (model === 'first') return '[[A>B]]';
  if (model === 'strict') return prompt.includes('[Answer B]') ? '[[B]]' : 'GRADE: I';
  if (model === 'teacher') return prompt.includes('[Answer B]') ? 'So: [[A]]' : 'GRADE: C';
  return isSecondGame(prompt) ? '[[A>>B]]' : '[[B>A]]';
}

function writeData(): string {
  const folder = mkdtempSync(join(tmpdir(), 'everstep-judged-data-'));
  mkdirSync(join(folder, 'arena_hard'));
  const rows = Array.from({ length: QUESTIONS }, (_, index) => ({
    question_id: `q${index}`,
    category: 'arena-hard-v0.1',
    turns: [{ content: `Question ${index}?` }],
    baseline_answer: `baseline ${index}`,
  }));
  const lines = rows.map((row) => `${JSON.stringify(row)}\n`).join('');
  writeFileSync(join(folder, 'arena_hard', 'data.jsonl'), lines);
  return folder;
}

function asking(judge: string, run: string) {
  return {
    ...{ run, endpoint: endpoint.url, model: 'candidate', dataFolder: data, concurrency: CONCURRENCY },
    judge: [{ model: judge, endpoint: endpoint.url }],
  };
}

beforeAll(async () => {
  stack = await TestStack.start();
  data = writeData();
  endpoint = await JudgeEndpoint.start(say);
  everstep = await Everstep.connect({
    address: stack.address,
    namespace: stack.namespace,
    store: join(stack.folder, 'store'),
    dataFolder: stack.folder,
  });
});

afterAll(async () => {
  await endpoint.close();
  await everstep.close();
  await stack.stop();
  rmSync(data, { recursive: true, force: true });
});

const KEYS = { EVERSTEP_JUDGE_API_KEY: 'of-the-judge', OPENAI_API_KEY: 'of-the-model' };

test('a worker that is killed between answer and judgement has no answer sampled again', async () => {
  endpoint.held.add('fan');
  let worker = WorkerProcess.start(stack, [], KEYS);
  try {
    const handle = await everstep.evaluate('arena_hard', asking('fan', 'killed'));
    await until(async () => {
      const answers = await readJsonLines(join(handle.folder, 'arena_hard/journal/shard-0/samples.jsonl'));
      return answers.length === QUESTIONS && endpoint.countOf('fan') >= CONCURRENCY ? true : null;
    });
    await worker.kill();
    const heldCount = endpoint.countOf('fan');
    endpoint.letGo('fan');
    worker = WorkerProcess.start(stack, [], KEYS);

    const report = await handle.result();

    const result = await loadResult(handle.folder, 'arena_hard');
    expect(report?.failures).toEqual([]);
    // Each question: one battle won in game 1, three in game 2.
    expect(report?.benchmarks[0]).toMatchObject({ score: 1, numExamples: QUESTIONS, numErrors: 0 });
    expect(result?.metrics).toMatchObject({ num_unparsed: 0, 'arena_hard/arena_hard_v0_1': 1 });
    expect(result?.identity.judges).toMatchObject([{ model: 'fan', at: endpoint.url, temperature: 0 }]);
    expect(endpoint.countOf('candidate')).toBe(QUESTIONS);
    expect(endpoint.countOf('fan')).toBe(2 * QUESTIONS + heldCount);
    expect(new Set(endpoint.asked.map(({ model, key }) => `${model} ${key}`))).toEqual(
      new Set(['candidate Bearer of-the-model', 'fan Bearer of-the-judge']),
    );
  } finally {
    await worker.kill();
  }
});

describe('with workers', () => {
  beforeAll(() => stack.startWorkers());
  afterAll(() => stack.stopWorkers());

  test('answers are judged again by another judge without the model, beside the first result', async () => {
    const sampled = endpoint.countOf('candidate');
    const folder = join(stack.folder, 'store/evals/killed');
    const before = await loadResult(folder, 'arena_hard');

    const handle = await everstep.rejudge({ folder, judge: { model: 'first', endpoint: endpoint.url } });
    const report = await handle.result();

    const [after, rows] = [
      await loadResult(handle.folder, 'arena_hard'),
      [...streamTrajectories(join(handle.folder, 'arena_hard'))],
    ];
    expect(report?.failures).toEqual([]);
    expect(handle.folder).toMatch(/evals\/killed-by-first-[0-9a-f]{8}$/);
    expect(after).toMatchObject({ score: 0.5, num_examples: QUESTIONS, num_errors: 0 });
    expect(after?.identity).toEqual({ ...before?.identity, judges: after?.identity.judges });
    expect(after?.identity.judges).not.toEqual(before?.identity.judges);
    expect(rows).toHaveLength(QUESTIONS);
    expect(rows[0]?.turns.find(({ role }) => role === 'assistant')?.content).toMatch(/^answer to Question/);
    expect(endpoint.countOf('candidate')).toBe(sampled);
    expect(await loadResult(folder, 'arena_hard')).toEqual(before);
  });

  test('the same judge again asks nobody, since what it said is kept', async () => {
    const asked = endpoint.asked.length;
    const folder = join(stack.folder, 'store/evals/killed');

    const handle = await everstep.rejudge({
      folder,
      judge: { model: 'fan', endpoint: endpoint.url },
      run: 'fan-again',
    });
    const report = await handle.result();

    const rows = await readJsonLines<Judgement>(
      join(handle.folder, 'arena_hard/journal/shard-0/judgements.jsonl'),
    );
    expect(report?.benchmarks[0]).toMatchObject({ score: 1, numErrors: 0 });
    expect(endpoint.asked).toHaveLength(asked);
    expect(rows).toHaveLength(2 * QUESTIONS);
    expect(rows.every((row) => row.is_cached)).toBe(true);
  });

  test('a judge that fails is an error of each question; the next start asks the judge alone', async () => {
    const sampled = endpoint.countOf('candidate');
    endpoint.broken.add('frail');
    const failed = await (await everstep.evaluate('arena_hard', asking('frail', 'frail'))).result();
    endpoint.broken.delete('frail');

    const again = await (await everstep.evaluate('arena_hard', asking('frail', 'frail'))).result();

    expect(failed?.failures[0]?.message).toMatch(/judge frail.*cannot judge this/);
    expect(again?.benchmarks[0]).toMatchObject({ score: 1, numErrors: 0, numExamples: QUESTIONS });
    expect(endpoint.countOf('candidate')).toBe(sampled + QUESTIONS);
  });

  test('a judge without a verdict gives no score', async () => {
    const report = await (await everstep.evaluate('arena_hard', asking('mute', 'mute'))).result();

    expect(report?.failures[0]?.message).toContain(`None of ${QUESTIONS} verdicts can be read`);
  });

  test('grades and compares the checkpoints of a run, and a gate decides by what a judge says', async () => {
    const runs = new TestRuns(stack);
    const judge = { model: 'teacher', endpoint: endpoint.url };
    const base = runs.config({ steps: 2 });
    const shared = { dataset: base.dataset, maxExamples: 4, maxTokens: 8, judge };
    const config = runs.config({
      steps: 2,
      schedules: [
        {
          name: 'judged',
          every: { steps: 2 },
          mode: 'blocking',
          evaluators: [
            { type: 'modelGraded', name: 'graded', method: 'fact', ...shared },
            { type: 'comparison', name: 'versus', baseline: 'base', ...shared },
          ],
          gate: { metric: 'test/graded/accuracy', rule: { atLeast: 0.5 }, on: 'value' },
        },
      ],
    });

    await runs.train('judged', config);

    const rows = await stack.store.readScores('judged');
    const keysOf = (step: number) =>
      rows.filter((row) => row.step === step).map(({ key, value }) => [key, value]);
    const said = await readJsonLines<Judgement>(
      join(stack.folder, 'store/runs/judged/evals/2/versus/journal/judgements.jsonl'),
    );
    expect(keysOf(2)).toEqual(
      expect.arrayContaining([
        ['test/graded/accuracy', 1],
        ['test/versus/win_rate', 0.5],
      ]),
    );
    expect(said.map(({ stage }) => stage).sort()).toEqual([
      ...Array.from({ length: 4 }, () => 'baseline'),
      ...Array.from({ length: 4 }, () => 'game-1'),
      ...Array.from({ length: 4 }, () => 'game-2'),
    ]);
    // What the base model answered at step 0 is not sampled again at step 2.
    expect(said.filter(({ stage }) => stage === 'baseline').every((row) => row.is_cached)).toBe(true);
    expect(readFileSync(join(stack.folder, 'store/runs/judged/controls.jsonl'), 'utf8')).toContain(
      'passed, not better than step 0',
    );
  });

  test('what a run was judged to at a step is judged again by another judge, and no weights are sampled', async () => {
    const folder = join(stack.folder, 'store/runs/judged/evals/2');
    const before = await loadResult(folder, 'graded');

    const handles = await everstep.rejudgeEvaluations({
      folder,
      judge: { model: 'strict', endpoint: endpoint.url },
    });
    const outcomes = await Promise.all(handles.map((handle) => handle.result()));

    const [target = ''] = handles.map(({ request }) => request.folder);
    const after = await loadResult(target, 'graded');
    const samplesIn = (place: string) => readJsonLines(join(place, 'graded/journal/samples.jsonl'));
    expect(target).toMatch(/evals\/judged-2-by-strict-[0-9a-f]{8}$/);
    expect(outcomes).toMatchObject([
      { value: { evaluator: 'graded', scores: [{ key: 'test/graded/accuracy', value: 0 }] } },
      { value: { evaluator: 'versus', scores: [{ key: 'test/versus/win_rate', value: 0.5 }] } },
    ]);
    expect(after?.identity.judges).toMatchObject([{ model: 'strict' }]);
    expect(await samplesIn(target)).toEqual(await samplesIn(folder));
    expect(await loadResult(folder, 'graded')).toEqual(before);
  });

  test('a benchmark that is judged is refused without a judge, before anything is sampled', async () => {
    const sampled = endpoint.countOf('candidate');
    const unjudged = { ...asking('fan', 'unjudged'), judge: undefined };

    const report = await (await everstep.evaluate('arena_hard', unjudged)).result();

    expect(report?.failures[0]).toMatchObject({ code: 'bad-config' });
    expect(report?.failures[0]?.message).toContain('--judge MODEL');
    expect(endpoint.countOf('candidate')).toBe(sampled);
  });
});
