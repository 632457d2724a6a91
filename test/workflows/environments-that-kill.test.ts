import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { WorkflowHandle } from '@temporalio/client';
import { DyingStack } from './harness/dying-stack';
import { ReinforcementRuns } from './harness/reinforcement-runs';
import { failureOf, reportOf } from './harness/runs';
import type { TestStack } from './harness/stack';
import type { KeptWorker } from './harness/worker-process';

/** Each of eight problems is played in one group of the two steps; some replies to one of them end the worker's process. */
const GROUPS = 8;
const GROUP_SIZE = 4;
const DEADLY_PROBLEM = 5;

/** A plug-in file whose environment dies of what this expression of `text` is true for. */
function sourceThatDiesOf(condition: string, end: string): string {
  return `
const fs = require('node:fs');
const path = require('node:path');
module.exports = { environments: { numbers: {
  problems: Array.from({ length: ${GROUPS} }, (_, index) => index),
  make: (problem) => ({
    initialObservation: () => ({ messages: [{ role: 'user', content: problem + '+1=' }] }),
    step: (action) => {
      const text = typeof action.content === 'string' ? action.content : '';
      if (problem === ${DEADLY_PROBLEM} && (${condition})) {
        fs.appendFileSync(path.join(__dirname, 'deaths.log'), new Date().toISOString() + '\\n');
        ${end};
      }
      return { reward: text.length, isDone: true, nextMessages: [] };
    },
  }),
} } };
`;
}

interface RolloutRow {
  readonly kind: string;
  readonly member: number;
  readonly messages: readonly { readonly role: string; readonly content: string }[];
  readonly turns: readonly { readonly stop_reason: string }[];
}

/** Runs on a stack of their own, since what shares a sampling worker with such an environment dies with it. */
class DyingRuns {
  readonly runs: ReinforcementRuns;

  private constructor(private readonly dying: DyingStack) {
    this.runs = new ReinforcementRuns(dying.stack);
  }

  static async start(): Promise<DyingRuns> {
    return new DyingRuns(await DyingStack.start());
  }

  get stack(): TestStack {
    return this.dying.stack;
  }

  /** How often it was come to since this was asked for last. */
  takeDeathCount(): number {
    const path = join(this.stack.folder, 'deaths.log');
    const count = readFileSync(path, 'utf8').trim().split('\n').length;
    rmSync(path);
    return count;
  }

  play(run: string, condition: string, end = ''): Promise<WorkflowHandle> {
    const plugins = join(this.stack.folder, `${run}.config.js`);
    writeFileSync(plugins, sourceThatDiesOf(condition, end));
    const config = this.runs.config({
      ...{ steps: 2, evaluators: [], evalEvery: 0, plugins, rolloutErrorTolerance: 'min-viable' },
      environment: { type: 'plugin', environment: 'numbers', testSize: 0 },
    });
    return this.runs.start(run, config);
  }

  /** The rollouts of each group, by its place. */
  rollouts(run: string): ReadonlyMap<string, readonly RolloutRow[]> {
    const rows = (text: string) =>
      text.split('\n').flatMap((line) => (line ? [JSON.parse(line) as RolloutRow] : []));
    const groups = Object.entries(this.runs.rollouts(run));
    return new Map(
      groups.map(([place, text]) => [place, rows(text).filter(({ kind }) => kind === 'rollout')]),
    );
  }

  separateTraining(): Promise<KeptWorker> {
    return this.dying.separateTraining();
  }

  stop(): Promise<void> {
    return this.dying.stop();
  }
}

function replyOf({ messages }: RolloutRow): string {
  return messages.at(-1)?.content ?? '';
}

let patient: DyingRuns;

beforeAll(async () => {
  patient = await DyingRuns.start();
});

afterAll(() => patient.stop());

const KILLED = "process.kill(process.pid, 'SIGKILL')";

test.each([
  // Three together, two as a group and three by itself, and those between which other groups got done.
  ['ends the process', KILLED, { least: 7, most: 100 }],
  // It is known whose doing that is.
  ['never gives the event loop back', 'for (;;);', { least: 2, most: 2 }],
  [
    'throws in a timer',
    "setTimeout(() => { throw new Error('late'); }, 0); return new Promise(() => {})",
    { least: 1, most: 1 },
  ],
])(
  'a rollout whose environment %s is given up alone, and every other one is as it is without it',
  async (what, end, deaths) => {
    const name = what.replaceAll(' ', '-');
    await reportOf(await patient.play(`twin-${name}`, 'false'));
    const twin = patient.rollouts(`twin-${name}`);
    const asks = ([row]: readonly RolloutRow[]) => row?.messages[0]?.content === `${DEADLY_PROBLEM}+1=`;
    const [place, group] = [...twin].find(([, rows]) => asks(rows)) ?? ['', []];
    // Replies that were cut never get to the environment.
    const reaching = group.filter(({ turns }) => turns.at(-1)?.stop_reason === 'stop');
    const deadly = reaching.find(
      (row) => reaching.filter((each) => replyOf(each) === replyOf(row)).length === 1,
    );
    if (deadly === undefined) throw new Error('No reply of the group is one of its own.');

    const condition = `text === ${JSON.stringify(replyOf(deadly))}`;
    const report = await reportOf(await patient.play(name, condition, end));

    const metrics = await patient.stack.store.readMetrics(name);
    const sum = (name: string) => metrics.reduce((total, row) => total + (row[name] ?? 0), 0);
    expect(report).toMatchObject({ status: 'completed', step: 2 });
    expect(metrics.map(({ step }) => step)).toEqual([1, 2]);
    expect(sum('env/all/total_episodes')).toBe(GROUPS * GROUP_SIZE - 1);
    expect(sum('rollout_errors/groups_skipped')).toBe(0);
    expect(sum('rollout_errors/environment_error')).toBe(1);
    const deathCount = patient.takeDeathCount();
    expect(deathCount).toBeGreaterThanOrEqual(deaths.least);
    expect(deathCount).toBeLessThanOrEqual(deaths.most);
    const lost = (await patient.stack.store.readEvents(name)).filter(({ kind }) => kind === 'worker lost');
    const told = expect.stringMatching(
      /: rollouts of step \d+ go on on another worker, .+ \(attempt \d+\)$/,
    ) as string;
    expect([...new Set(lost.map(({ text }) => text.replace(/\d+\)$/, '1)')))]).toEqual(
      deaths.most > 1 ? [told] : [],
    );

    const played = patient.rollouts(name);
    const others = group.filter((row) => row !== deadly);
    expect(others).toHaveLength(GROUP_SIZE - 1);
    expect(played.get(place)?.map(replyOf)).toEqual(others.map(replyOf));
    // After the step that lacks a rollout the weights are others.
    const stepOf = (where: string) => Number(where.split('/')[0]);
    const before = [...twin].filter(([where]) => stepOf(where) <= stepOf(place) && where !== place);
    expect(before.length).toBeGreaterThanOrEqual(GROUPS / 2 - 1);
    for (const [where, rows] of before) expect(played.get(where)).toEqual(rows);
  },
);

test('a plug-in file that never comes to its end where rollouts are played ends the run, and is named', async () => {
  const plugins = join(patient.stack.folder, 'unloadable.config.js');
  const source = sourceThatDiesOf('false', '');
  writeFileSync(plugins, `if (process.argv.includes('sampling')) for (;;);\n${source}`);
  const config = patient.runs.config({
    ...{ steps: 2, evaluators: [], evalEvery: 0, plugins },
    environment: { type: 'plugin', environment: 'numbers', testSize: 0 },
  });

  const failure = await failureOf(await patient.runs.start('unloadable', config));

  expect(failure.message).toMatch(
    /because of the code of "\S*", again and again: .* at \S*unloadable\.config\.js:\d+\.$/,
  );
});

test('a plug-in file that never comes to its end where the run is trained ends the run, is named, and keeps no other run from training', async () => {
  const training = await patient.separateTraining();
  const plugins = join(patient.stack.folder, 'untrainable.config.js');
  const source = sourceThatDiesOf('false', '');
  writeFileSync(plugins, `if (process.argv.includes('training')) for (;;);\n${source}`);
  const config = patient.runs.config({
    ...{ steps: 2, evaluators: [], evalEvery: 0, plugins },
    environment: { type: 'plugin', environment: 'numbers', testSize: 0 },
  });

  const beside = await patient.play('beside', 'false');
  const failure = await failureOf(await patient.runs.start('untrainable', config));

  expect(failure.message).toMatch(
    /because of the code of "\S*", again and again: .* at \S*untrainable\.config\.js:1\.$/,
  );
  expect(await reportOf(beside)).toMatchObject({ status: 'completed', step: 2 });
  // Three, of which the first is nobody's yet, and on a busy machine some of which it is not known whose they are.
  const deaths = training.said().match(/never gives the event loop back/g) ?? [];
  expect(deaths.length).toBeGreaterThanOrEqual(3);
  expect(deaths.length).toBeLessThanOrEqual(5);
});
