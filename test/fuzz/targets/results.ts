import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { listEvals } from '../../../src/client/eval-list';
import { ServerLink } from '../../../src/client/server-link';
import { readExampleScores } from '../../../src/evaluation/compare/example-scores';
import { resultPage } from '../../../src/evaluation/pages/result-page';
import { loadResult, loadSummary, streamTrajectories } from '../../../src/stores/eval-store';
import { printTrajectory } from '../../../src/stores/eval-trajectory-text';
import type { FuzzTarget } from '../target';
import { passAll, scratchFolder } from '../target';

const root = scratchFolder('results');
const run = path.join(root, 'evals', 'one');
const folder = path.join(run, 'gsm8k');
const link = new ServerLink(null);

const TRAJECTORY = {
  ...{
    idx: 0,
    benchmark: 'gsm8k',
    example_id: 'a',
    reward: 1,
    metrics: { a: 1 },
    logs: { note: 'x' },
    error: null,
    time_seconds: 1,
  },
  turns: [
    { role: 'user', content: 'q', token_count: 1, metadata: {} },
    { role: 'assistant', content: 'a', token_count: 1, metadata: { stop_reason: 'stop' } },
  ],
};
const RESULT = {
  ...{
    name: 'gsm8k',
    score: 0.5,
    stderr: 0.1,
    ci: [0.4, 0.6],
    score_completed: 0.5,
    num_examples: 2,
    num_correct: 1,
  },
  ...{ num_errors: 0, num_truncated: 0, metrics: { a: 1 }, time_seconds: 1, pass_at_k: { '1': 0.5 } },
  identity: {
    benchmarkVersion: 1,
    dataHash: 'a',
    promptHash: 'b',
    graderVersion: 'c',
    sampling: {},
    model: 'm',
    checkpoint: '',
  },
};
const METADATA = {
  ...{ run_id: 'one', model_name: 'm', checkpoint_path: null, checkpoint_name: 'a@1', benchmarks: ['gsm8k'] },
  ...{ timestamp: '2026-01-01T00:00:00.000Z', config: {}, scores: { gsm8k: 0.5 } },
};

/** Files of results: the input lies in the place of each. */
export const target: FuzzTarget = {
  name: 'results',
  seeds: () => [
    JSON.stringify(RESULT),
    JSON.stringify(METADATA),
    `${JSON.stringify(TRAJECTORY)}\n${JSON.stringify({ ...TRAJECTORY, example_id: 'b', sample_index: 1 })}\n`,
  ],
  words: ['turns', 'metrics', 'logs', 'content', 'identity', 'run_id', '<script>', '\n', 'cluster'],
  async run(bytes) {
    mkdirSync(path.join(folder, 'journal'), { recursive: true });
    for (const name of ['result.json', 'trajectories.jsonl', 'journal/plan.json', 'journal/grades.jsonl'])
      writeFileSync(path.join(folder, name), bytes);
    for (const name of ['metadata.json', 'summary.json']) writeFileSync(path.join(run, name), bytes);
    if ((await listEvals(link, root)).length !== 1) throw new Error('the eval run is not in the list');
    const trajectories = [...streamTrajectories(folder)];
    const page = resultPage({ title: 't', trajectories, limit: 10 });
    if (/<script|[\u001b\u202e]/.test(page)) throw new Error('the page is not escaped');
    for (const each of trajectories) {
      printTrajectory(each, {
        write(line) {
          if (/[\u0000-\u001f\u007f-\u009f\u202a-\u202e]/.test(line))
            throw new Error('a line is not escaped');
        },
      });
    }
    await passAll([
      () => loadResult(run, 'gsm8k'),
      () => loadSummary(run),
      () => readExampleScores(run, 'gsm8k', { completedOnly: false }),
    ]);
  },
};
