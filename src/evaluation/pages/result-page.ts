import { join } from 'node:path';
import type { BenchmarkPlace } from '../../core/benchmark-run';
import { benchmarkFolder, streamTrajectories } from '../../stores/eval-store';
import type { StoredTrajectory } from '../../stores/eval-store';
import { writeWholeFile } from '../../stores/whole-file';
import { rolloutPage } from './rollout-page';
import type { ShownGroup } from './shown-group';
import { trajectoryGroups } from './trajectory-groups';

export interface ResultPage {
  readonly title: string;
  readonly trajectories: Iterable<StoredTrajectory>;
  /** Examples on the page; those after them are not read. */
  readonly limit: number;
  /** How many examples there are, and what shows all of them; it takes `--html FILE`. */
  readonly rest?: { readonly exampleCount: number; readonly command: string };
}

/** Examples of a benchmark as a page for a browser: what was asked, written, and how it was judged. */
export function resultPage({ title, trajectories, limit, rest }: ResultPage): string {
  const groups: ShownGroup[] = [];
  for (const group of trajectoryGroups(trajectories)) {
    groups.push(group);
    if (groups.length >= limit) break;
  }
  const hiddenCount = rest ? Math.max(0, rest.exampleCount - groups.length) : 0;
  return rolloutPage({ title, groups, hiddenCount, command: rest?.command ?? '' });
}

/** As many as of a step that was trained on. */
const SHOWN_EXAMPLES = 4;

/** `<benchmark>/rollouts.html`: the first examples of a finished benchmark; the same again when it is written again. */
export async function writeResultPage(
  { run, folder, benchmark }: BenchmarkPlace,
  exampleCount: number,
): Promise<void> {
  const resultFolder = benchmarkFolder(folder, benchmark);
  const page = resultPage({
    title: `${run}, ${benchmark}`,
    trajectories: streamTrajectories(resultFolder),
    limit: SHOWN_EXAMPLES,
    rest: {
      exampleCount,
      command: `everstep results trajectories "${folder}" ${benchmark} --limit ${exampleCount}`,
    },
  });
  await writeWholeFile(join(resultFolder, 'rollouts.html'), page);
}
