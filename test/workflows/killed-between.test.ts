import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { WorkflowHandle } from '@temporalio/client';
import { Everstep } from '../../src/client/everstep';
import type { Judgement } from '../../src/evaluation/judges/judgements';
import { loadResult } from '../../src/stores/eval-store';
import { readJsonLines } from '../../src/stores/json-lines';
import { stepsApplied } from './harness/applied';
import type { Hold } from './harness/held-training';
import { HeldTraining } from './harness/held-training';
import { JudgeEndpoint } from './harness/judge-endpoint';
import { reportOf, TestRuns, until } from './harness/runs';
import { TestStack } from './harness/stack';
import { TestService } from './harness/test-service';
import { WorkerProcess } from './harness/worker-process';

/**
 * One worker samples, runs what was sampled, judges and trains. It is killed between two of these, and another one goes on:
 * the endpoint, the sandboxes and the training service count.
 */

const TASKS = 6;
/** Programs that a worker runs before they wait. */
const QUICK = 2;
const QUESTIONS = 6;
const STEPS = 16;

let training: HeldTraining;
let stack: TestStack;
let service: TestService;
let runs: TestRuns;
let everstep: Everstep;
let data: string;
let endpoint: JudgeEndpoint;
let worker: WorkerProcess;
let code: Evaluation;
let judged: Evaluation;
let trained: WorkflowHandle;
let gradesBefore: readonly Row[];
let askedBefore: number;
/** The last step with a row. */
let stepBefore: number;

type Evaluation = Awaited<ReturnType<Everstep['evaluate']>>;

interface Row {
  readonly example_id: string;
}

function say(model: string, prompt: string): string {
  if (model === 'coder') {
    const name = /def (\w+)/.exec(prompt)?.[1] ?? '';
    return `\`\`\`python\ndef ${name}(a):\n    return a + 1\n\`\`\``;
  }
  if (model === 'candidate') return `answer to ${prompt}`;
  return prompt.includes("A's Answer|>\nanswer to") ? '[[A>>B]]' : '[[B>A]]';
}

/**
 * Sandboxes that note the programs they run and find them right, as does the check that judges what they told; those of a worker wait after the
 * first few programs, until `open` is there.
 */
const SANDBOXES = `
const fs = require('node:fs');
const path = require('node:path');
let runCount = 0;
module.exports = { sandboxFactory: () => {
  const files = new Map();
  return {
    kind: 'noting',
    async exec(_argv, { stdin }) {
      const said = (text) => ({ exitCode: 0, stdout: stdin.trim() + text, ...nothing });
      const nothing = { stderr: '', isStdoutCut: false, isStderrCut: false, limit: null, seconds: 0 };
      if (files.get('check.py').includes('"told.jsonl"')) return said('{"passed": 1, "failure": null}');
      fs.appendFileSync(path.join(__dirname, 'ran.log'), /def (\\w+)/.exec(files.get('program.py'))[1] + '\\n');
      runCount += 1;
      if (runCount > ${QUICK})
        while (!fs.existsSync(path.join(__dirname, 'open'))) await new Promise((resolve) => setTimeout(resolve, 20));
      return said('[[]]\\n{"kinds": {}}');
    },
    async writeFile(name, content) { files.set(name, String(content)); },
    async readFile(name) { return Buffer.from(files.get(name)); },
    async close() {},
  };
} };
`;

function writeRows(benchmark: string, rows: readonly object[]): void {
  mkdirSync(join(data, benchmark));
  const lines = rows.map((row) => `${JSON.stringify(row)}\n`);
  writeFileSync(join(data, benchmark, 'data.jsonl'), lines.join(''));
}

function writeTasks(): void {
  const names = (kind: string, count: number) =>
    Array.from({ length: count }, (_, index) => `${kind}_${index}`);
  writeRows(
    'humaneval',
    names('task', TASKS).map((name) => ({
      task_id: `HumanEval/${name}`,
      prompt: `def ${name}(a):\n    """One more."""\n`,
      entry_point: name,
      test: 'def check(candidate):\n    assert candidate(1) == 2\n',
    })),
  );
  writeRows(
    'arena_hard',
    names('q', QUESTIONS).map((id) => ({
      ...{ question_id: id, category: 'arena-hard-v0.1', turns: [{ content: `Question ${id}?` }] },
      baseline_answer: `baseline of ${id}`,
    })),
  );
}

function journalOf<T extends object>(folder: string, benchmark: string, kind: string): Promise<T[]> {
  return readJsonLines<T>(join(folder, benchmark, 'journal/shard-0', `${kind}.jsonl`));
}

function gradesOf({ folder }: Evaluation): Promise<Row[]> {
  return journalOf(folder, 'humaneval', 'grades');
}

function judgementsOf({ folder }: Evaluation): Promise<Judgement[]> {
  return journalOf(folder, 'arena_hard', 'judgements');
}

/** How often each program was run, by its name. */
function runsOfPrograms(): Map<string, number> {
  const file = join(data, 'ran.log');
  const names = existsSync(file) ? readFileSync(file, 'utf8').trim().split('\n') : [];
  return new Map(names.map((name) => [name, names.filter((each) => each === name).length]));
}

function config() {
  return runs.config({ steps: STEPS, batchSize: 4, engine: { url: service.url } });
}

async function askForAll(): Promise<Hold> {
  const asking = { endpoint: endpoint.url, dataFolder: data, concurrency: 2 * QUESTIONS };
  const plugins = join(data, 'everstep.config.js');
  const judge = ['early', 'late'].map((model) => ({ model, endpoint: endpoint.url }));
  endpoint.held.add('late');
  const hold = training.holdNext(8);
  code = await everstep.evaluate('humaneval', { ...asking, run: 'code', model: 'coder', plugins });
  judged = await everstep.evaluate('arena_hard', { ...asking, run: 'judged', model: 'candidate', judge });
  trained = await runs.start('widowed', config());
  return hold;
}

/** All are sampled and some are graded; one judge has said all and the other is being asked; a step is under way. */
async function untilBetween(hold: Hold): Promise<void> {
  await until(async () => {
    const samples = await journalOf<Row>(code.folder, 'humaneval', 'samples');
    return samples.length === TASKS && (await gradesOf(code)).length === QUICK ? true : null;
  });
  // Both games of each question.
  await until(async () => ((await judgementsOf(judged)).length === 2 * QUESTIONS ? true : null));
  await until(() => endpoint.countOf('late') > 0 || null);
  await hold.held();
}

beforeAll(async () => {
  training = await HeldTraining.create();
  stack = await TestStack.start({ runtime: training });
  runs = new TestRuns(stack);
  service = await TestService.start({
    ...{ runtime: training, dataFolder: join(stack.folder, 'twice') },
    profile: { deduplicate: false, ordered: false },
  });
  data = mkdtempSync(join(tmpdir(), 'everstep-killed-between-'));
  writeTasks();
  writeFileSync(join(data, 'everstep.config.js'), SANDBOXES);
  endpoint = await JudgeEndpoint.start(say);
  everstep = await Everstep.connect({
    address: stack.address,
    namespace: stack.namespace,
    store: join(stack.folder, 'store'),
    dataFolder: stack.folder,
  });
  const first = WorkerProcess.start(stack);
  // Also where the story does not come to the second.
  worker = first;
  const hold = await askForAll();
  await untilBetween(hold);

  await first.kill();
  gradesBefore = await gradesOf(code);
  askedBefore = endpoint.countOf('late');
  stepBefore = (await stack.store.readMetrics('widowed')).at(-1)?.step ?? NaN;
  hold.letGo();
  endpoint.letGo('late');
  writeFileSync(join(data, 'open'), '');
  worker = WorkerProcess.start(stack);
});

afterAll(async () => {
  training.letAllGo();
  await worker.kill();
  await endpoint.close();
  await everstep.close();
  await service.close();
  await stack.stop();
  rmSync(data, { recursive: true, force: true });
});

test('between sample and sandbox: every answer is run, none is sampled again and none is run twice that has its grade', async () => {
  const report = await code.result();

  const after = await gradesOf(code);
  const graded = new Set(gradesBefore.map(({ example_id: id }) => id.replace('HumanEval/', '')));
  const runCounts = [...runsOfPrograms()].filter(([name]) => graded.has(name));
  expect(report?.failures).toEqual([]);
  expect(report?.benchmarks).toMatchObject([{ score: 1, numExamples: TASKS, numErrors: 0 }]);
  expect(endpoint.countOf('coder')).toBe(TASKS);
  expect(after).toHaveLength(TASKS);
  expect(after).toEqual(expect.arrayContaining([...gradesBefore]));
  expect(runCounts.map(([, count]) => count)).toEqual([1, 1]);
});

test('between two judgements: what one judge said is kept, and the other alone is asked', async () => {
  const report = await judged.result();

  const result = await loadResult(judged.folder, 'arena_hard');
  expect(report?.failures).toEqual([]);
  expect(result).toMatchObject({ score: 1, num_errors: 0, num_examples: QUESTIONS });
  expect(endpoint.countOf('candidate')).toBe(QUESTIONS);
  expect(endpoint.countOf('early')).toBe(2 * QUESTIONS);
  expect(endpoint.countOf('late')).toBeGreaterThanOrEqual(2 * QUESTIONS);
  expect(endpoint.countOf('late')).toBeLessThanOrEqual(2 * QUESTIONS + askedBefore);
  expect(await judgementsOf(judged)).toHaveLength(4 * QUESTIONS);
});

test('in the middle of a segment, on a service that would compute resent requests twice: the run rewinds', async () => {
  await reportOf(trained);

  const state = await stack.store.readState('widowed');
  const applied = stepsApplied(service.dataFolder);
  const events = await stack.store.readEvents('widowed');
  await runs.train('wed', config());
  expect(state).toMatchObject({ status: 'completed', rewinds: 1 });
  expect(stepBefore).toBeGreaterThan(0);
  expect(events.filter(({ kind }) => kind === 'worker lost').map(({ text }) => text)).toEqual([
    `a worker was gone or failed: training goes on after step ${stepBefore} on another worker, or on the same one begun again (attempt 2)`,
  ]);
  expect(applied).toBe(STEPS + (state?.stepsReplayed ?? NaN));
  expect(await runs.outcome('widowed')).toEqual(await runs.outcome('wed'));
});
