import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Rollout, Transition } from '../../../../src/core/reinforcement/rollout';
import { openRolloutFiles } from '../../../../src/training/rollouts/rollout-files';
import type { SampledGroup } from '../../../../src/training/rollouts/sample-group';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'everstep-rollouts-'));
});
afterEach(() => {
  rmSync(folder, { recursive: true, force: true });
});

function turn(
  prompt: readonly number[],
  tokens: readonly number[],
  over: Partial<Transition> = {},
): Transition {
  return {
    observationTokens: prompt,
    actionTokens: tokens,
    logprobs: tokens.map((token) => Math.fround(-1 / (token + 3))),
    reward: 0.1,
    isDone: false,
    metrics: { tool_calls: 1 },
    logs: { answer: '«7»', number: 3 },
    stopReason: 'stop',
    policyVersion: 4,
    ...over,
  };
}

function rollout(...transitions: Transition[]): Rollout {
  return { transitions, finalReward: 1 / 3, metrics: { format: 1 }, stopReason: 'completed' };
}

const group: SampledGroup = {
  id: 'arithmetic_0123456789ab',
  tags: ['arithmetic'],
  rollouts: [
    rollout(turn([1, 2, 3], [4, 5]), turn([1, 2, 3, 4, 5, 6], [7]), turn([1, 9], [8], { isDone: true })),
    rollout(turn([], [], { logprobs: [], stopReason: null, isDone: true })),
  ],
  conversations: [
    [
      { role: 'user', content: '3+4=' },
      { role: 'assistant', content: '7' },
    ],
    [],
  ],
  errorTypes: ['environment_error'],
  errorMessages: ['no such file (thrown at /mine/environment.js:3:9)'],
  isSkipped: false,
};

test('a file in place of a step’s folder is waited for by name, before anything is sampled', async () => {
  const files = openRolloutFiles(folder);
  mkdirSync(join(folder, 'rollouts'));
  writeFileSync(join(folder, 'rollouts', '3'), '');

  await expect(files.prepare(3)).rejects.toMatchObject({
    code: 'unreachable',
    retryable: true,
    message: `${join(folder, 'rollouts', '3')} is to be a folder for rollouts, and a file is in its place. Move the file away.`,
  });
  rmSync(join(folder, 'rollouts', '3'));
  await files.prepare(3);
  await files.prepare(3);
  expect(await files.listGroups(3)).toEqual([]);
});

test('what is read is what was written, to the last bit, also of turns that go on and turns that begin anew', async () => {
  const files = openRolloutFiles(folder);

  await files.write({ step: 3, group: 12 }, group);

  expect(await openRolloutFiles(folder).readGroup({ step: 3, group: 12 })).toEqual(group);
});

test('a prompt is stored as what is new, and rows say what they are', async () => {
  await openRolloutFiles(folder).write({ step: 3, group: 12 }, group);

  const rows = readFileSync(join(folder, 'rollouts/3/12.jsonl'), 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>);
  expect(rows.map(({ kind, version }) => [kind, version])).toEqual([
    ['group', 1],
    ['rollout', 1],
    ['rollout', 1],
  ]);
  expect(rows[1]).toMatchObject({
    step: 3,
    group: 12,
    member: 0,
    stop_reason: 'completed',
    turns: [
      { continues: false, prompt_tokens: [1, 2, 3] },
      { continues: true, prompt_tokens: [6] },
      { continues: false, prompt_tokens: [1, 9] },
    ],
  });
});

test('of two attempts the first wins, and the other gets what is stored', async () => {
  const files = openRolloutFiles(folder);
  const place = { step: 0, group: 0 };

  const first = await files.write(place, group);
  const second = await files.write(place, { ...group, id: 'other', rollouts: [] });

  expect(first.id).toBe(group.id);
  expect(second).toEqual(group);
  expect(readdirSync(join(folder, 'rollouts/0'))).toEqual(['0.jsonl']);
});

test('a skipped group is stored as one, so that it is not sampled again', async () => {
  const files = openRolloutFiles(folder);
  const skipped = { ...group, rollouts: [], conversations: [], isSkipped: true };

  await files.write({ step: 0, group: 0 }, skipped);

  expect(await files.readGroup({ step: 0, group: 0 })).toEqual(skipped);
});

test('lists groups in the order of their numbers and passes over what is none', async () => {
  const files = openRolloutFiles(folder);
  for (const number of [10, 9, 0]) await files.write({ step: 1, group: number }, group);
  writeFileSync(join(folder, 'rollouts/1/.5.jsonl.x.tmp'), '');
  writeFileSync(join(folder, 'rollouts/1/05.jsonl'), '');

  expect(await files.listGroups(1)).toEqual([0, 9, 10]);
  expect(await files.listGroups(2)).toEqual([]);
});

test.each([
  ['half of a group', (text: string) => text.split('\n')[0] ?? ''],
  ['rows of another version', (text: string) => text.replaceAll('"version":1', '"version":2')],
  ['a torn row', (text: string) => text.slice(0, -20)],
])('refuses a file with %s, naming it', async (_what, damage) => {
  const files = openRolloutFiles(folder);
  await files.write({ step: 0, group: 0 }, group);
  const path = join(folder, 'rollouts/0/0.jsonl');
  writeFileSync(path, damage(readFileSync(path, 'utf8')));

  await expect(files.readGroup({ step: 0, group: 0 })).rejects.toThrow('rollouts/0/0.jsonl');
});
