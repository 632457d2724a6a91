import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { ownBuild } from '../chaos/builds';
import type { EvalEvent } from '../chaos/eval-events';
import { runEvalChaos, runEvalReference } from '../chaos/eval-run';

/** One evaluation under fixed events; `npm run chaos -- --kind eval` draws many. */
const SIZE = { examples: 320, concurrency: 16, delayMs: 150 } as const;
const EVENTS: readonly EvalEvent[] = [
  { kind: 'errors', afterAnswers: 40, durationMs: 300 },
  { kind: 'worker-kill', afterAnswers: 90, durationMs: 0 },
  { kind: 'full', afterAnswers: 140, durationMs: 200 },
  { kind: 'endpoint-kill', afterAnswers: 190, durationMs: 400 },
  { kind: 'server-kill', afterAnswers: 240, durationMs: 0 },
];

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(path.join(os.tmpdir(), 'everstep eval chaos '));
});

afterEach(() => {
  rmSync(folder, { recursive: true, force: true });
});

function place(name: string): string {
  const made = path.join(folder, name);
  mkdirSync(made);
  return made;
}

test('an evaluation whose worker, endpoint and Temporal server die leaves what an undisturbed one leaves', async () => {
  const builds = ownBuild(path.resolve(__dirname, '../..'));
  const reference = runEvalReference({ ...SIZE, folder: place('calm'), builds });
  const verdict = await runEvalChaos({ ...SIZE, folder: place('hunted'), builds }, EVENTS, reference);

  expect(verdict.problems).toEqual([]);
  expect(verdict.events).toHaveLength(EVENTS.length);
  expect(verdict.refused).toBeGreaterThan(0);
  expect((await reference).trajectories).toHaveLength(SIZE.examples);
});
