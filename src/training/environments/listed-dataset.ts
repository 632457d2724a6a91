import { shuffledIndices } from '../../core/random';
import type { EnvironmentDataset, EnvironmentGroup, LeftOutRow } from './environment-dataset';

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
  /** What a problem asks; of problems that ask the same none is kept apart and another trained on. Default: the id of its group. */
  readonly askedBy?: (problem: Problem) => string;
}

/** Which problems are kept apart does not depend on a run's seed, so that runs can be compared. */
const HELD_OUT_SEED = 20_250_101;

/**
 * A dataset with some of its problems kept apart as its test set: the last ones of a fixed shuffle. One that a file has several
 * times is kept apart once, and its other copies are not trained on.
 */
export function splitDataset<Problem>(
  name: string,
  problems: readonly Problem[],
  { groupOf, testSize, limit, askedBy = (problem) => groupOf(problem).id }: SplitOptions<Problem>,
): EnvironmentDataset {
  const order = [...shuffledIndices(problems.length, HELD_OUT_SEED)];
  const shuffled = order.flatMap((index) =>
    problems.slice(index, index + 1).map((problem) => ({ problem, asks: askedBy(problem) })),
  );
  const different = new Map(shuffled.map(({ asks, problem }) => [asks, problem]));
  const testCount = Math.min(testSize, Math.floor(different.size / 2));
  const tested = new Map([...different].slice(different.size - testCount));
  const trained = shuffled.filter(({ asks }) => !tested.has(asks)).map(({ problem }) => problem);
  const test = testCount > 0 ? listedDataset(name, [...tested.values()], { groupOf, test: null }) : null;
  return {
    ...listedDataset(name, trained.slice(0, limit), { groupOf, test }),
    ...leftOutOf(shuffled, { tested, groupOf }),
  };
}

const ASKED_IN_TEST = 'the test set asks the same.';

/** Copies of what is kept apart. */
function leftOutOf<Problem>(
  problems: readonly { readonly problem: Problem; readonly asks: string }[],
  { tested, groupOf }: { readonly tested: ReadonlyMap<string, Problem>; readonly groupOf: GroupOf<Problem> },
): Pick<EnvironmentDataset, 'leftOut'> {
  const leftOut = problems
    .filter(({ problem, asks }) => tested.has(asks) && tested.get(asks) !== problem)
    .flatMap(({ problem }) => askedInTest(groupOf(problem)));
  return leftOut.length > 0 ? { leftOut } : {};
}

/** How a problem of a file is told that is not trained on. */
export function askedInTest({ place }: Pick<EnvironmentGroup, 'place'>): readonly LeftOutRow[] {
  return place ? [{ place, reason: ASKED_IN_TEST }] : [];
}
