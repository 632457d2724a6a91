import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { z } from 'zod';
import type {
  TrainingEnvironment,
  TrainingStep,
} from '../../../../src/training/environments/environment-dataset';
import { defineTool } from '../../../../src/training/environments/tools/tool';
import { createToolEnvironment } from '../../../../src/training/environments/tools/tool-environment';
import { allOrAbort } from '../../../../src/evaluation/all-or-abort';
import { openRolloutFiles } from '../../../../src/training/rollouts/rollout-files';
import { sampleGroup } from '../../../../src/training/rollouts/sample-group';
import { createSampleSeeds } from '../../../../src/training/rollouts/sample-seeds';
import { scriptedPolicy, siteWith } from './scripted-policy';

const GROUPS = 24;
const GROUP_SIZE = 8;
const CONCURRENCY = 4;

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'everstep-batch-'));
});
afterEach(() => {
  rmSync(folder, { recursive: true, force: true });
});

/** Three calls of a tool, then an answer. */
const policy = scriptedPolicy((prompt) => {
  const turn = prompt.split('<tool_response>').length;
  const call = `<tool_call>\n{"name": "count", "arguments": {"turn": ${turn}}}\n</tool_call>`;
  return `${turn < 4 ? call : 'done'}<|im_end|>`;
});

const count = defineTool({
  name: 'count',
  description: 'c',
  parameters: z.object({ turn: z.int() }),
  run: ({ turn }) => String(turn),
});

test('192 environments with four turns of tools are played a few at a time, and a bad one costs itself alone', async () => {
  let [open, mostOpen] = [0, 0];
  const make = (group: number, member: number): TrainingEnvironment => {
    mostOpen = Math.max(mostOpen, ++open);
    const environment = createToolEnvironment({
      messages: [{ role: 'user', content: 'go' }],
      tools: [count],
      grade: () => ({ reward: 1 }),
    });
    const close = async () => {
      open -= 1;
    };
    if (member !== 3) return { ...environment, close };
    const troubles: Record<number, () => TrainingStep | Promise<TrainingStep>> = {
      5: () => Promise.reject(new Error('broken')),
      6: () => new Promise(() => undefined),
      7: () => ({ reward: NaN, isDone: false, nextMessages: [] }),
    };
    const trouble = troubles[group];
    return { ...environment, close, ...(trouble && { step: trouble }) };
  };
  const site = siteWith(policy, {
    rendererName: 'qwen3_instruct',
    strategy: { type: 'min-viable', maxRetries: 0, minSuccessful: null },
    environmentTimeoutSeconds: 0.5,
  });
  const files = openRolloutFiles(folder);
  const groups = Array.from({ length: GROUPS }, (_, index) => index);

  await allOrAbort(
    groups,
    { signal: new AbortController().signal, limit: CONCURRENCY },
    async (group, signal) => {
      const task = {
        group: { id: String(group), tags: [], make: (member: number) => make(group, member) },
        groupSize: GROUP_SIZE,
        seeds: createSampleSeeds(0, group),
        policyVersion: 0,
      };
      await files.write({ step: 0, group }, await sampleGroup(site, task, { signal }));
    },
  );

  expect(open).toBe(0);
  expect(mostOpen).toBe(CONCURRENCY * GROUP_SIZE);
  expect(await files.listGroups(0)).toEqual(groups);
  for (const group of groups) {
    const stored = await files.readGroup({ step: 0, group });
    const isTroubled = group >= 5 && group <= 7;
    expect(stored?.rollouts).toHaveLength(isTroubled ? GROUP_SIZE - 1 : GROUP_SIZE);
    expect(stored?.errorTypes).toEqual(
      isTroubled ? [['environment_error', 'environment_timeout', 'environment_garbage'][group - 5]] : [],
    );
    expect(stored?.rollouts.map(({ transitions }) => transitions.length)).toEqual(
      stored?.rollouts.map(() => 4),
    );
  }
});
