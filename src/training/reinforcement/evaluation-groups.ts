import { join } from 'node:path';
import type { ShownGroup } from '../../evaluation/pages/shown-group';
import { trajectoryGroups } from '../../evaluation/pages/trajectory-groups';
import { streamTrajectories } from '../../stores/eval-store';
import { namesIn } from '../../stores/folder-names';
import { openRolloutFiles } from '../rollouts/rollout-files';
import { shownGroup } from './shown-group';

export interface EvaluationGroups {
  readonly groups: readonly ShownGroup[];
  /** Groups that are there, those that were not asked for included. */
  readonly total: number;
}

export interface EvaluationPlace {
  readonly step: number;
  readonly evaluator: string;
}

/**
 * What a model wrote in one evaluation of a run: the rollouts of held-out environments, or a benchmark's trajectories, an
 * example a group. Of an evaluation under way those that are done; none where an evaluator samples nothing.
 */
export async function readEvaluationGroups(cellFolder: string, limit = Infinity): Promise<EvaluationGroups> {
  const files = openRolloutFiles(cellFolder);
  const found = await files.listGroups(0);
  if (found.length === 0) return trajectoryGroupsOf(cellFolder, limit);
  const groups: ShownGroup[] = [];
  for (const group of found.slice(0, limit)) {
    const sampled = await files.readGroup({ step: 0, group });
    if (sampled !== null) groups.push(shownGroup(group, sampled));
  }
  return { groups, total: found.length };
}

/** Evaluations of a run with something to read, by step. */
export async function listEvaluationPlaces(runFolder: string): Promise<EvaluationPlace[]> {
  const evaluations = join(runFolder, 'evals');
  const steps = (await namesIn(evaluations)).filter((name) => /^\d+$/.test(name)).map(Number);
  const places: EvaluationPlace[] = [];
  for (const step of steps.sort((left, right) => left - right)) {
    for (const evaluator of (await namesIn(join(evaluations, String(step)))).sort()) {
      const names = await namesIn(join(evaluations, String(step), evaluator));
      if (names.some((name) => name === 'rollouts' || name === 'trajectories.jsonl'))
        places.push({ step, evaluator });
    }
  }
  return places;
}

function trajectoryGroupsOf(cellFolder: string, limit: number): EvaluationGroups {
  const groups: ShownGroup[] = [];
  let total = 0;
  for (const group of trajectoryGroups(streamTrajectories(cellFolder))) {
    if (total < limit) groups.push(group);
    total += 1;
  }
  return { groups, total };
}
