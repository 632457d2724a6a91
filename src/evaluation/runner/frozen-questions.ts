import type { BenchmarkPlace } from '../../core/benchmark-run';
import type { BenchmarkPlan } from './benchmark-plan';
import { examplesPath } from './benchmark-plan';
import { wholeOf } from './example-draft';
import { FrozenExamples } from './frozen-examples';
import { questionsHashOf } from './identity';

type FrozenPlan = Pick<BenchmarkPlan, 'shards' | 'examplesFile'>;

/** All examples of a benchmark that was planned. Throws where somebody took them away or changed them. */
function frozenExamplesOf(place: BenchmarkPlace, plan: FrozenPlan): Promise<FrozenExamples> {
  return FrozenExamples.open(examplesPath(place, plan), wholeOf(plan.shards));
}

/** What they ask; null where nobody can tell any more. */
export async function questionsHashIn(place: BenchmarkPlace, plan: FrozenPlan): Promise<string | null> {
  try {
    return questionsHashOf(await frozenExamplesOf(place, plan));
  } catch {
    return null;
  }
}
