import path from 'node:path';
import { DomainError } from '../core/errors';
import type { BenchmarkPlan } from '../evaluation/runner/benchmark-plan';
import { findForeignPlan } from '../evaluation/runner/benchmark-plan';
import { planFault } from '../evaluation/runner/plan-fault';
import { benchmarkFolder } from '../stores/eval-store';
import { listBenchmarks } from '../stores/eval-places';
import { isWholeIdentity } from '../stores/result-types';

/** What was asked for of an eval run, by the plans of its folder; of `wanted` alone where they are named. */
export async function plansIn(
  folder: string,
  wanted: readonly string[] | undefined,
): Promise<readonly BenchmarkPlan[]> {
  const { finished, unfinished } = await listBenchmarks(folder);
  const names = wanted?.map((name) => name.replaceAll('-', '_')) ?? [...finished, ...unfinished];
  const found = await Promise.all(names.map((name) => planOf(folder, name)));
  const missing = names.find((_, index) => found[index] === null);
  if (wanted && missing !== undefined) {
    throw new DomainError('bad-config', `${folder} has no journal of ${missing}.`);
  }
  return found.filter((plan) => plan !== null);
}

/** null also where it says that it is another benchmark's, whose results would then be looked for elsewhere. */
async function planOf(folder: string, benchmark: string): Promise<BenchmarkPlan | null> {
  const plan = await findForeignPlan({ run: '', folder, benchmark }, planFault);
  if (plan === null) return null;
  if (!isWholeIdentity(plan.identity)) {
    throw new DomainError(
      'bad-config',
      `${path.join(folder, benchmark, 'journal', 'plan.json')} does not say what the result is made of: it is damaged. Leave ${benchmark} out.`,
    );
  }
  return benchmarkFolder(folder, plan.benchmark) === benchmarkFolder(folder, benchmark) ? plan : null;
}
