import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { TellWaiting } from '../../../../src/core/concurrency/waiting-reasons';
import { DomainError } from '../../../../src/core/errors';
import type { PythonAsk } from '../../../../src/core/python';
import type { AskOptions, PythonLink } from '../../../../src/evaluation/python/python-link';
import { pythonEnvironments } from '../../../../src/training/environments/python/python-environments';
import { readObservation } from '../../../../src/training/environments/python/python-messages';
import { createSampleSeeds } from '../../../../src/training/rollouts/sample-seeds';
import { sampleGroup } from '../../../../src/training/rollouts/sample-group';
import { scriptedPolicy, siteWith } from '../rollouts/scripted-policy';

test.each([
  ['bare', { name: 'add', parameters: { type: 'object' } }],
  ["OpenAI's", { type: 'function', function: { name: 'add', parameters: { type: 'object' } } }],
  ["Anthropic's", { name: 'add', input_schema: { type: 'object' } }],
])('a tool in the form of %s is read with its parameters', (_form, tool) => {
  expect(readObservation({ messages: [], tools: [tool] }).tools).toEqual([
    { name: 'add', description: '', parameters: { type: 'object' } },
  ]);
});

interface Call {
  readonly rollout: string;
  readonly turn: number;
  readonly problem?: number;
  readonly message?: { readonly role: string; readonly content: string };
}

/** A game of three turns: the model says letters, and gets them back with the turn's number. */
class StandInWorkers implements PythonLink {
  readonly asked: PythonAsk[] = [];
  readonly closed: string[] = [];
  worker = 1;
  isAway = false;
  /** How an answer to a step differs from one worker to the next. */
  mood = '';
  pendingLeft = 0;
  /** Told of the next work, and that it is over. */
  wait: string | null = null;
  private readonly rollouts = new Map<string, { readonly problem: number; readonly said: string[] }>();

  async ask(work: PythonAsk, { signal, onWaiting }: AskOptions): Promise<unknown> {
    signal?.throwIfAborted();
    this.asked.push(work);
    if (work.activity === 'readProblems') return this.writeProblems(String(work.input['path']));
    if (this.wait !== null) {
      onWaiting?.(this.wait);
      onWaiting?.(null);
      this.wait = null;
    }
    if (this.isAway) throw new DomainError('unreachable', 'No Python worker polls everstep-python.');
    const isOwn = work.taskQueue.startsWith('own-');
    if (isOwn && work.taskQueue !== `own-${this.worker}`)
      throw new DomainError('unreachable', 'nobody polls it');
    const calls = work.input['calls'] as readonly Call[];
    return { queue: `own-${this.worker}`, answers: calls.map((call) => this.answer(call)) };
  }

  kill(): void {
    this.worker += 1;
    this.rollouts.clear();
  }

  private writeProblems(path: string) {
    mkdirSync(dirname(path), { recursive: true });
    const rows = [0, 1, 2, 3].map((problem) => ({ problem, isTest: problem === 3 }));
    writeFileSync(path, rows.map((row) => `${JSON.stringify(row)}\n`).join(''));
    return { path, rowCount: rows.length };
  }

  private answer(call: Call): unknown {
    const { rollout, turn, problem = 0 } = call;
    if (turn < 0) {
      this.closed.push(rollout);
      return { value: true };
    }
    if (this.pendingLeft-- > 0) return { pending: true };
    if (turn > 0) return this.step(call);
    this.rollouts.set(rollout, { problem, said: [] });
    return { value: { messages: [{ role: 'user', content: `problem ${problem}` }] } };
  }

  private step({ rollout, turn, message }: Call): unknown {
    const known = this.rollouts.get(rollout);
    if (!known || known.said.length < turn - 1) return { lost: true };
    const content = message?.content ?? '';
    if (content === 'raise') return { error: 'ValueError: no such luck' };
    if (known.said.length < turn) known.said.push(content);
    const isDone = turn === 3;
    const nextMessages = isDone ? [] : [{ role: 'user', content: `${content}${turn}${this.mood}` }];
    return { value: { reward: Number(isDone), isDone, nextMessages, metrics: { turn } } };
  }
}

let folder: string;
let workers: StandInWorkers;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'everstep-python-environments-'));
  workers = new StandInWorkers();
});

afterEach(() => {
  rmSync(folder, { recursive: true });
});

const OPTIONS = { environment: 'letters', options: { size: 3 }, testSize: 0 };
const { signal } = new AbortController();

function datasetOf() {
  return pythonEnvironments(OPTIONS, { link: workers, folder });
}

async function play(
  onSample: (turn: number) => void = () => undefined,
  say = 'a',
  onWaiting: TellWaiting = () => undefined,
) {
  const dataset = await datasetOf();
  let sampleCount = 0;
  const policy = scriptedPolicy(() => {
    onSample(sampleCount++);
    return `${say}<|end|>`;
  });
  const task = { group: dataset.groupAt(0), groupSize: 2, seeds: createSampleSeeds(1, 0), policyVersion: 0 };
  const sampled = await sampleGroup(
    siteWith(policy, { strategy: { type: 'min-viable', maxRetries: 0, minSuccessful: 1 }, onWaiting }),
    task,
    { signal },
  );
  return { sampled, sampleCount: () => sampleCount };
}

test('problems come from the worker, those it keeps for tests apart', async () => {
  const dataset = await datasetOf();

  expect(dataset.length).toBe(3);
  expect(dataset.test?.length).toBe(1);
  expect(dataset.groupAt(1).tags).toEqual(['letters']);
});

test('a group is played in several turns, gathered into few messages, and closed', async () => {
  const { sampled } = await play();

  expect(sampled.rollouts.map(({ transitions }) => transitions.map(({ reward }) => reward))).toEqual([
    [0, 0, 1],
    [0, 0, 1],
  ]);
  const [first, ...later] = workers.asked.filter(({ activity }) => activity === 'playEnvironments');
  expect(first).toMatchObject({ taskQueue: 'everstep-python', input: { options: { size: 3 } } });
  // Both members at once; whoever opened them has them.
  expect(later.every(({ taskQueue }) => taskQueue === 'own-1')).toBe(true);
  expect(first?.input['calls']).toHaveLength(2);
  expect(new Set(workers.closed).size).toBe(2);
});

test('whoever samples is told for which workers is waited, and until when', async () => {
  const told: (string | null)[] = [];
  workers.wait = 'No Python worker polls everstep-python.';

  await play(undefined, 'a', (reason) => told.push(reason));

  expect(told).toEqual(['No Python worker polls everstep-python.', null]);
});

test('what is not done yet is asked for again', async () => {
  workers.pendingLeft = 5;

  const { sampled } = await play();

  expect(sampled.rollouts).toHaveLength(2);
});

test('a worker that dies costs no sample: what was said is played again at another', async () => {
  const { sampled, sampleCount } = await play((count) => {
    if (count === 3) workers.kill();
  });

  expect(sampled.errorTypes).toEqual([]);
  expect(sampled.rollouts.map(({ transitions }) => transitions.length)).toEqual([3, 3]);
  expect(sampleCount()).toBe(6);
});

test('an environment that plays otherwise at another worker has lost its rollout', async () => {
  const { sampled } = await play((count) => {
    if (count !== 3) return;
    workers.kill();
    workers.mood = '!';
  });

  expect(sampled.errorTypes).toContain('environment_error');
});

test('what it raises costs its rollout', async () => {
  const { sampled } = await play(undefined, 'raise');

  expect(sampled.isSkipped).toBe(true);
  expect(sampled.errorTypes).toEqual(['environment_error', 'environment_error']);
});

test('nobody to play is no rollout’s failure', async () => {
  workers.isAway = true;

  await expect(play()).rejects.toMatchObject({ code: 'unreachable' });

  const calls = workers.asked
    .filter(({ activity }) => activity === 'playEnvironments')
    .flatMap(({ input }) => input['calls'] as readonly Call[]);
  // What nobody opened is not closed either: that would wait for somebody once more.
  expect(calls.map(({ turn }) => turn)).toEqual([0, 0]);
});

test('without a way to Python it is refused by name', async () => {
  await expect(pythonEnvironments(OPTIONS, undefined)).rejects.toThrow(
    /Environment "letters" is written in Python/,
  );
});
