import { shuffledIndices } from '../../core/random';
import type { EnvironmentDataset, EnvironmentGroup } from './environment-dataset';

type GroupOf<Problem> = (problem: Problem) => EnvironmentGroup;

/** A dataset of problems that lie in memory; their environments are made when they are played. */
export function listedDataset<Problem>(
  name: string,
  problems: readonly Problem[],
  { groupOf, test }: { readonly groupOf: GroupOf<Problem>; readonly test: EnvironmentDataset | null },
): EnvironmentDataset {
  return {
    name,
    length: problems.length,
    groupAt(index) {
      const [group] = problems.slice(index, index + 1).map(groupOf);
      if (group) return group;
      throw new RangeError(`${name} has ${problems.length} problems; there is none at ${index}.`);
    },
    test,
  };
}

export interface SplitOptions<Problem> {
  readonly groupOf: GroupOf<Problem>;
  /** Problems kept apart, but never more than half of them. */
  readonly testSize: number;
  /** Of those that remain. */
  readonly limit?: number | undefined;
}

/** Which problems are kept apart does not depend on a run's seed, so that runs can be compared. */
const HELD_OUT_SEED = 20_250_101;

/** A dataset with some of its problems kept apart as its test set: the last ones of a fixed shuffle. */
export function splitDataset<Problem>(
  name: string,
  problems: readonly Problem[],
  { groupOf, testSize, limit }: SplitOptions<Problem>,
): EnvironmentDataset {
  const order = [...shuffledIndices(problems.length, HELD_OUT_SEED)];
  const shuffled = order.flatMap((index) => problems.slice(index, index + 1));
  const trainCount = shuffled.length - Math.min(testSize, Math.floor(shuffled.length / 2));
  const tested = shuffled.slice(trainCount);
  const test = tested.length > 0 ? listedDataset(name, tested, { groupOf, test: null }) : null;
  return listedDataset(name, shuffled.slice(0, trainCount).slice(0, limit), { groupOf, test });
}
