import { join } from 'node:path';
import type { BenchmarkPlace } from '../../core/benchmark-run';
import type { StoredResult } from '../../stores/eval-store';
import { copyWholeFile, writeJson } from '../../stores/whole-file';
import { resultFolder } from '../runner/benchmark-plan';

/**
 * Copies a result and its trajectories to `gradings/<number>/<benchmark>` before they are graded again, where commands read them
 * as they read any other. Returns that folder, from the benchmark's. The result is copied last; repeated, it copies the same.
 */
export async function keepGrading(
  place: BenchmarkPlace,
  result: StoredResult,
  number: number,
): Promise<string> {
  const name = join('gradings', String(number), place.benchmark);
  const target = join(resultFolder(place), name);
  await copyWholeFile(join(resultFolder(place), 'trajectories.jsonl'), join(target, 'trajectories.jsonl'));
  await writeJson(join(target, 'result.json'), result);
  return name;
}
