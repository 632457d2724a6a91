/**
 * Memory of a large batch of rollouts: npx jiti bench/rollout-memory.ts
 *
 * 64 groups of 8 environments, four turns of tools each, replies of 512 tokens, 256 rollouts under way at once. The policy is
 * scripted; environments, prompts, sampling loop and files are real.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { z } from 'zod';
import type { Tokenizer } from '../src/core/tokenizer';
import type { Sampler } from '../src/core/sampling';
import { NO_LIMITS } from '../src/core/reinforcement/limits';
import type { Renderer } from '../src/renderers/renderer';
import { loadTokenizer } from '../src/renderers/tokenizers/load-tokenizer';
import { defineTool } from '../src/training/environments/tools/tool';
import { createToolEnvironment } from '../src/training/environments/tools/tool-environment';
import { allOrAbort } from '../src/evaluation/all-or-abort';
import { openRolloutFiles } from '../src/training/rollouts/rollout-files';
import type { RolloutSite } from '../src/training/rollouts/rollout-site';
import { sampleGroup } from '../src/training/rollouts/sample-group';
import { createSampleSeeds } from '../src/training/rollouts/sample-seeds';

const GROUPS = 64;
const GROUP_SIZE = 8;
const REPLY_TOKENS = 512;
const ROLLOUTS_AT_ONCE = 256;
const TURNS = 4;

const look = defineTool({
  name: 'look',
  description: 'Looks something up',
  parameters: z.object({}),
  run: () => 'x'.repeat(REPLY_TOKENS),
});

const sampler: Sampler = {
  async sample({ params }) {
    const tokens = Array.from(
      { length: REPLY_TOKENS },
      (_, index) => 32 + ((index + (params.seed ?? 0)) % 64),
    );
    const logprobs = tokens.map((token) => Math.fround(-1 / token));
    return { sequences: [{ tokens, logprobs, stopReason: 'stop' }], promptLogprobs: null };
  },
};

/** Every message as its letters; each reply but the last calls the tool. */
function plainRenderer(tokenizer: Tokenizer): Renderer {
  const write = (text: string) => tokenizer.encode(text);
  return {
    name: 'plain',
    hasExtensionProperty: true,
    buildGenerationPrompt: (messages) =>
      messages.flatMap(({ content }) => (typeof content === 'string' ? write(content) : [])),
    buildSupervisedExample: () => ({ tokens: [], weights: [] }),
    parseCompletion: (tokens) => ({
      message: {
        role: 'assistant',
        content: tokenizer.decode(tokens),
        toolCalls: [{ id: 'c', name: 'look', arguments: '{}' }],
      },
      termination: 'stop_sequence',
    }),
    declareTools: () => [],
    stopSequences: () => [],
  };
}

async function main(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'everstep-rollout-memory-'));
  const site: RolloutSite = {
    sampler,
    renderer: plainRenderer(await loadTokenizer({ folder: resolve(__dirname, '../models/everstep-tiny') })),
    contextLength: 32_768,
    limits: { ...NO_LIMITS, maxTurns: TURNS },
    strategy: { type: 'fail-fast' },
    temperature: 1,
    now: () => performance.now(),
  };
  const before = process.memoryUsage.rss();
  let most = 0;
  const watch = setInterval(() => (most = Math.max(most, process.memoryUsage.rss())), 20);
  const files = openRolloutFiles(folder);
  const indices = Array.from({ length: GROUPS }, (_, index) => index);
  const limit = ROLLOUTS_AT_ONCE / GROUP_SIZE;
  await allOrAbort(indices, { signal: new AbortController().signal, limit }, async (group, signal) => {
    const make = () =>
      createToolEnvironment({
        messages: [{ role: 'user', content: 'Look around.' }],
        tools: [look],
        maxTurns: TURNS + 1,
        grade: () => ({ reward: 1 }),
      });
    const task = {
      group: { id: String(group), tags: [], make },
      groupSize: GROUP_SIZE,
      seeds: createSampleSeeds(0, group),
      policyVersion: 0,
    };
    await files.write({ step: 0, group }, await sampleGroup(site, task, { signal }));
    most = Math.max(most, process.memoryUsage.rss());
  });
  clearInterval(watch);
  const megabytes = (bytes: number) => Math.round(bytes / 2 ** 20);
  console.log(
    `${GROUPS * GROUP_SIZE} rollouts of ${TURNS} turns: ${megabytes(before)} MB before, ${megabytes(most)} MB at most`,
  );
  rmSync(folder, { recursive: true });
}

void main();
