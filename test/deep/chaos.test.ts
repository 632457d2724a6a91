import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { ownBuild } from '../chaos/builds';
import { runChaos, runReference } from '../chaos/chaos-run';
import type { ChaosEvent } from '../chaos/events';

/** One run under a fixed plan; `npm run chaos` draws many. */
const STEPS = 32;
const ORDINARY = { delayMs: 100, worker: 0, seed: 1 } as const;
const EVENTS: readonly ChaosEvent[] = [
  { ...ORDINARY, kind: 'answers-dropped', afterStep: 0, durationMs: 2500 },
  { ...ORDINARY, kind: 'worker-kill', afterStep: 8, durationMs: 0 },
  { ...ORDINARY, kind: 'engine-kill', afterStep: 20, durationMs: 500 },
];

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(path.join(os.tmpdir(), 'everstep chaos '));
});

afterEach(() => {
  rmSync(folder, { recursive: true, force: true });
});

function place(name: string): string {
  const made = path.join(folder, name);
  mkdirSync(made);
  return made;
}

test('a run under lost answers, a killed worker and a killed engine leaves what an undisturbed one leaves', async () => {
  const builds = ownBuild(path.resolve(__dirname, '../..'));
  const reference = await runReference({ folder: place('calm'), builds }, 'background', STEPS);
  const plan = { seed: 0, steps: STEPS, variant: 'background', events: EVENTS } as const;
  const verdict = await runChaos({ folder: place('hunted'), builds }, plan, reference);

  expect(verdict.problems).toEqual([]);
  expect(verdict.events).toHaveLength(EVENTS.length);
  expect(verdict.events.join()).toMatch(/answers-dropped.*\(\d+ requests\)/);
  expect(verdict.rewinds).toBeGreaterThanOrEqual(1);
  expect(reference.outcome.metrics).toHaveLength(STEPS + 1);
  expect(reference.outcome.scores.length).toBeGreaterThan(0);
  expect(reference.outcome.answers.length).toBeGreaterThan(0);
});
