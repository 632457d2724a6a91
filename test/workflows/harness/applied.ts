import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Optimizer steps of each model that an engine with this data folder has applied, in all of its lives. */
function appliedSteps(dataFolder: string): Map<string, number> {
  const file = join(dataFolder, 'applied-steps.jsonl');
  const counts = new Map<string, number>();
  const lines = existsSync(file) ? readFileSync(file, 'utf8').split('\n') : [];
  for (const line of lines.filter((text) => text !== '')) {
    const { model, step } = JSON.parse(line) as { model: string; step: number };
    expect(step).toBe((counts.get(model) ?? 0) + 1);
    counts.set(model, step);
  }
  return counts;
}

/** Steps applied while `work` went on, whichever models they were for. */
export async function stepsAppliedBy(dataFolder: string, work: () => Promise<void>): Promise<number> {
  const before = stepsApplied(dataFolder);
  await work();
  return stepsApplied(dataFolder) - before;
}

export function stepsApplied(dataFolder: string): number {
  return [...appliedSteps(dataFolder).values()].reduce((sum, count) => sum + count, 0);
}
