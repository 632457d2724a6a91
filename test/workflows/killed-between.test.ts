import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Everstep } from '../../src/client/everstep';
import type { Judgement } from '../../src/evaluation/judges/judgements';
import { loadResult } from '../../src/stores/eval-store';
import { readJsonLines } from '../../src/stores/json-lines';
import { JudgeEndpoint } from './harness/judge-endpoint';
import { until } from './harness/runs';
import { TestStack } from './harness/stack';
import { WorkerProcess } from './harness/worker-process';

/** Sampling, running what was sampled, judging: a worker is killed between two of them, and the endpoint counts. */

const QUESTIONS = 24;
const QUICK = 6;
const SLOW = 6;

let stack: TestStack;
let everstep: Everstep;
let data: string;
let endpoint: JudgeEndpoint;

/** Right programs, some of which take their time; two judges who agree. */
function say(model: string, prompt: string): string {
  if (model === 'coder') return program(/def (\w+)/.exec(prompt)?.[1] ?? '');
  if (model === 'candidate') return `answer to ${prompt}`;
  return prompt.includes("A's Answer|>\nanswer to") ? '[[A>>B]]' : '[[B>A]]';
}

function program(name: string): string {
  const wait = name.startsWith('slow') ? 'import time\ntime.sleep(2)\n' : '';
  return `\`\`\`python\n${wait}def ${name}(a):\n    return a + 1\n\`\`\``;
}

function writeRows(benchmark: string, rows: readonly object[]): void {
  mkdirSync(join(data, benchmark));
  const lines = rows.map((row) => `${JSON.stringify(row)}\n`);
  writeFileSync(join(data, benchmark, 'data.jsonl'), lines.join(''));
}

function taskOf(name: string) {
  return {
    task_id: `HumanEval/${name}`,
    prompt: `def ${name}(a):\n    """One more."""\n`,
    entry_point: name,
    test: 'def check(candidate):\n    assert candidate(1) == 2\n',
  };
}

beforeAll(async () => {
  stack = await TestStack.start();
  data = mkdtempSync(join(tmpdir(), 'everstep-killed-between-'));
  const names = (kind: string, count: number) =>
    Array.from({ length: count }, (_, index) => `${kind}_${index}`);
  writeRows('humaneval', [...names('quick', QUICK), ...names('slow', SLOW)].map(taskOf));
  writeRows(
    'arena_hard',
    names('q', QUESTIONS).map((id) => ({
      ...{ question_id: id, category: 'arena-hard-v0.1', turns: [{ content: `Question ${id}?` }] },
      baseline_answer: `baseline of ${id}`,
    })),
  );
  endpoint = await JudgeEndpoint.start(say);
  everstep = await Everstep.connect({
    address: stack.address,
    namespace: stack.namespace,
    store: join(stack.folder, 'store'),
    dataFolder: stack.folder,
  });
}, 120_000);

afterAll(async () => {
  await endpoint.close();
  await everstep.close();
  await stack.stop();
  rmSync(data, { recursive: true, force: true });
}, 30_000);

interface Row {
  readonly example_id: string;
}

function journalOf<T extends object>(folder: string, benchmark: string, kind: string): Promise<T[]> {
  return readJsonLines<T>(join(folder, benchmark, 'journal/shard-0', `${kind}.jsonl`));
}

test('between sample and sandbox: every answer is run, none is sampled again and none is run twice that has its grade', async () => {
  let worker = WorkerProcess.start(stack);
  try {
    const asking = { endpoint: endpoint.url, model: 'coder', dataFolder: data };
    const handle = await everstep.evaluate('humaneval', { run: 'code', ...asking });
    const gradesOf = () => journalOf<Row>(handle.folder, 'humaneval', 'grades');
    await until(async () => {
      const samples = await journalOf<Row>(handle.folder, 'humaneval', 'samples');
      return samples.length === QUICK + SLOW && (await gradesOf()).length > 0 ? true : null;
    });
    await worker.kill();
    const before = await gradesOf();
    worker = WorkerProcess.start(stack);

    const report = await handle.result();

    const after = await gradesOf();
    expect(before.length).toBeLessThan(QUICK + SLOW);
    expect(report?.failures).toEqual([]);
    expect(report?.benchmarks).toMatchObject([{ score: 1, numExamples: QUICK + SLOW, numErrors: 0 }]);
    expect(endpoint.countOf('coder')).toBe(QUICK + SLOW);
    expect(after).toHaveLength(QUICK + SLOW);
    expect(after).toEqual(expect.arrayContaining(before));
  } finally {
    await worker.kill();
  }
}, 120_000);

test('between two judgements: what one judge said is kept, and the other alone is asked', async () => {
  endpoint.held.add('late');
  let worker = WorkerProcess.start(stack);
  try {
    const judge = ['early', 'late'].map((model) => ({ model, endpoint: endpoint.url }));
    const asking = { endpoint: endpoint.url, model: 'candidate', dataFolder: data, concurrency: QUESTIONS };
    const handle = await everstep.evaluate('arena_hard', { run: 'judged', ...asking, judge });
    const judgements = () => journalOf<Judgement>(handle.folder, 'arena_hard', 'judgements');
    // Both games of each question, by the one who answers.
    await until(async () => ((await judgements()).length === 2 * QUESTIONS ? true : null));
    const heldCount = await until(() => (endpoint.countOf('late') > 0 ? endpoint.countOf('late') : null));
    await worker.kill();
    endpoint.letGo('late');
    worker = WorkerProcess.start(stack);

    const report = await handle.result();

    const result = await loadResult(handle.folder, 'arena_hard');
    expect(report?.failures).toEqual([]);
    expect(result).toMatchObject({ score: 1, num_errors: 0, num_examples: QUESTIONS });
    expect(endpoint.countOf('candidate')).toBe(QUESTIONS);
    expect(endpoint.countOf('early')).toBe(2 * QUESTIONS);
    expect(endpoint.countOf('late')).toBeGreaterThanOrEqual(2 * QUESTIONS);
    expect(endpoint.countOf('late')).toBeLessThanOrEqual(2 * QUESTIONS + heldCount);
    expect(await judgements()).toHaveLength(4 * QUESTIONS);
  } finally {
    await worker.kill();
  }
}, 120_000);
