import { stripEnds } from '../../../core/strip-ends';
import type { Grader, Score } from '../../graders/grader';
import { fromRows } from '../../graders/from-rows';
import type { Row, RowGrader } from '../../graders/row-grader';

/** The groups an example belongs to, such as its subject; null where its row does not say. */
type GroupsOf = (row: Row) => readonly (string | null)[];

/**
 * A grader whose scores also count under `<benchmark>/<group>`: the mean over the group's examples that were graded.
 */
export function scoredByGroup(benchmark: string, grader: Grader, groupsOf: GroupsOf): Grader {
  return {
    name: grader.name,
    version: grader.version,
    ...(grader.boundsItself && { boundsItself: true }),
    grade(completion, example) {
      const groups = groupsOf(example.row ?? {}).flatMap((group) =>
        group === null ? [] : [`${benchmark}/${groupKey(group)}`],
      );
      const score = grader.grade(completion, example);
      return 'then' in score ? score.then((judged) => withGroups(judged, groups)) : withGroups(score, groups);
    },
  };
}

function withGroups(score: Score, groups: readonly string[]): Score {
  const metrics = Object.fromEntries(groups.map((group) => [group, score.value]));
  return { ...score, metrics: { ...score.metrics, ...metrics } };
}

export function rowsByGroup(benchmark: string, grader: RowGrader, groupsOf: GroupsOf): Grader {
  return scoredByGroup(benchmark, fromRows(grader), groupsOf);
}

/** "Computer Science" → `computer_science`: what may stand in the key of a metric. */
export function groupKey(group: string): string {
  const key = stripEnds(group.toLowerCase().replace(/[^\p{L}\p{N}]+/gu, '_'), '_');
  return key === '' ? 'other' : key;
}
