import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadPlugins, NO_PLUGINS } from '../../../../src/evaluation/plugins';
import { totalReward } from '../../../../src/core/reinforcement/rollout';
import { pluginEnvironments } from '../../../../src/training/environments/plugin-environments';
import { sampleGroup } from '../../../../src/training/rollouts/sample-group';
import { scriptedPolicy, siteWith } from '../rollouts/scripted-policy';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'everstep-plugin-'));
});
afterEach(() => {
  rmSync(folder, { recursive: true, force: true });
});

function plugins(source: string) {
  const file = join(folder, 'everstep.config.ts');
  writeFileSync(file, source);
  return loadPlugins(file);
}

const ECHO = `
export const environments = {
  echo: ({ count = 4 }: { count?: number }) => ({
    problems: () => Array.from({ length: count }, (_, index) => ({ word: 'w' + index })),
    tags: ({ word }: { word: string }) => ['echo', word],
    make: ({ word }: { word: string }) => ({
      initialObservation: () => ({ messages: [{ role: 'user', content: 'say ' + word }] }),
      step: ({ content }: { content: string }) => ({
        reward: Number(content === word), isDone: true, nextMessages: [],
      }),
    }),
    rewards: (played: readonly unknown[]) => played.map((_, index) => ({ reward: index })),
  }),
  broken: { problems: [1, 2] },
  empty: { problems: [1], make: () => 7 },
};`;

const config = { environment: 'echo', options: { count: 6 }, testSize: 2 };

test('an environment of a plug-in file in TypeScript is played, with its options, tags and group rewards', async () => {
  const dataset = await pluginEnvironments(await plugins(ECHO), config);

  expect([dataset.length, dataset.test?.length]).toEqual([4, 2]);
  const group = dataset.groupAt(0);
  const word = group.tags[1] ?? '';
  const sampled = await sampleGroup(
    siteWith(scriptedPolicy(() => `${word}<|end|>`)),
    { group, groupSize: 3, seeds: () => 0, policyVersion: 0 },
    { signal: new AbortController().signal },
  );
  expect(sampled.rollouts.map(totalReward)).toEqual([1, 2, 3]);
  expect(sampled.id).toMatch(/^echo_[0-9a-f]{12}$/);
});

test.each([
  ['nope', /unknown environment "nope"\. .*everstep\.config\.ts has: echo, broken, empty\./],
  ['broken', /environment "broken" make: must be a function/],
])('refuses %s, saying what is wrong', async (environment, message) => {
  const registry = await plugins(ECHO);

  await expect(pluginEnvironments(registry, { ...config, environment })).rejects.toThrow(message);
});

test('what a plug-in makes that is no environment is refused when it is made', async () => {
  const dataset = await pluginEnvironments(await plugins(ECHO), { ...config, environment: 'empty' });

  expect(() => dataset.groupAt(0).make(0)).toThrow('environment "empty" make: must return an object');
});

test('a promise of an environment is refused by what to do instead, and its rejection ends nothing', async () => {
  const promising = { problems: ['a'], make: () => Promise.reject(new Error('no')) };
  const registry = { file: 'everstep.config.ts', environments: new Map([['promising', promising as never]]) };

  const dataset = await pluginEnvironments(registry, { ...config, environment: 'promising' });

  expect(() => dataset.groupAt(0).make(0)).toThrow(
    /and not a promise of one: what takes time belongs into initialObservation/,
  );
});

test('says that no plug-in file is loaded', async () => {
  await expect(pluginEnvironments(NO_PLUGINS, config)).rejects.toThrow('No plug-in file is loaded');
});

test.each([
  ['its function', `() => { throw new Error('no luck'); }`],
  ['its problems', `{ problems: () => Promise.reject(new Error('no luck')), make: () => 1 }`],
])('what %s throws ends the run', async (_, source) => {
  const registry = await plugins(`export const environments = { unlucky: ${source} };`);
  const asked = { environment: 'unlucky', options: {}, testSize: 0 };
  await expect(pluginEnvironments(registry, asked)).rejects.toMatchObject({
    ...{ code: 'bad-plugin', retryable: false },
    message: expect.stringMatching(
      /^plug-in environment "unlucky" of .*config\.ts failed: no luck \(thrown at .*config\.ts:\d+:\d+\)\./,
    ) as unknown,
  });
});

test('what its tags throw ends the run', async () => {
  const source = `{ problems: [1], make: () => 1, tags: () => { throw new Error('no luck'); } }`;
  const registry = await plugins(`export const environments = { unlucky: ${source} };`);
  const dataset = await pluginEnvironments(registry, { environment: 'unlucky', options: {}, testSize: 0 });
  expect(() => dataset.groupAt(0)).toThrow('plug-in environment "unlucky"');
});

const FORGETFUL = `
class Riddle { constructor(readonly answer: number) {} get question() { return this.answer + '?'; } }
const asking = (seen: unknown[]) => ({
  initialObservation: () => ({ messages: [{ role: 'user', content: seen.join() }] }),
  step: () => ({ reward: 0, isDone: true, nextMessages: [] }),
});
export const environments = {
  counting: {
    problems: [{ n: 0, seen: [] as number[] }],
    make: (problem: { n: number; seen: number[] }, member: number) => {
      problem.n += 1;
      problem.seen.push(member);
      return asking([problem.n, ...problem.seen]);
    },
  },
  classy: { problems: [new Riddle(7)], make: (riddle: Riddle) => asking([riddle.question]) },
};`;

test('what a rollout does to its problem reaches no other, and the problem stays the same one', async () => {
  const registry = await plugins(FORGETFUL);
  const dataset = await pluginEnvironments(registry, { environment: 'counting', options: {}, testSize: 0 });
  const { id } = dataset.groupAt(0);

  const shown = [0, 1, 2].map((member) => dataset.groupAt(0).make(member).initialObservation());

  expect(shown).toMatchObject(['1,0', '1,1', '1,2'].map((content) => ({ messages: [{ content }] })));
  expect(dataset.groupAt(0).id).toBe(id);
});

test('a problem that is no plain data is handed over as it is', async () => {
  const registry = await plugins(FORGETFUL);
  const dataset = await pluginEnvironments(registry, { environment: 'classy', options: {}, testSize: 0 });

  expect(dataset.groupAt(0).make(0).initialObservation()).toMatchObject({ messages: [{ content: '7?' }] });
});

test.each([
  [
    "['fine', 'two\\nlines']",
    /^plugins: .* environment "tagged" tags: the name "two\\nlines" has line breaks/,
  ],
  ["'just-one'", /tags: must be a list of names/],
])('tags %s are refused', async (tags, message) => {
  const source = `{ problems: [1], make: () => 1, tags: () => ${tags} }`;
  const registry = await plugins(`export const environments = { tagged: ${source} };`);
  const dataset = await pluginEnvironments(registry, { environment: 'tagged', options: {}, testSize: 0 });

  expect(() => dataset.groupAt(0)).toThrow(
    expect.objectContaining({
      code: 'bad-plugin',
      message: expect.stringMatching(message) as string,
    }) as Error,
  );
});
