import { join } from 'node:path';
import type { StoredTrajectory } from '../../stores/eval-store';
import { streamTrajectories } from '../../stores/eval-store';
import { namesIn } from '../../stores/folder-names';
import { openRolloutFiles } from '../rollouts/rollout-files';
import type { ShownGroup, ShownRollout } from './shown-group';
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
  if (found.length === 0) return trajectoryGroups(cellFolder, limit);
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

/** Samples of one example stand together, so that only those of one are held beside the groups that are shown. */
function trajectoryGroups(cellFolder: string, limit: number): EvaluationGroups {
  const groups: ShownGroup[] = [];
  let total = 0;
  let open: StoredTrajectory[] = [];
  const close = () => {
    if (open.length === 0) return;
    if (total < limit) groups.push(groupOfTrajectories(total, open));
    total += 1;
    open = [];
  };
  for (const trajectory of streamTrajectories(cellFolder)) {
    if (open[0]?.example_id !== trajectory.example_id) close();
    open.push(trajectory);
  }
  close();
  return { groups, total };
}

function groupOfTrajectories(group: number, trajectories: readonly StoredTrajectory[]): ShownGroup {
  const [first] = trajectories;
  return {
    group,
    id: first?.example_id ?? '',
    tags: first === undefined ? [] : [first.benchmark],
    errors: trajectories.flatMap(({ error }) => error ?? []),
    rollouts: trajectories.map(rolloutOfTrajectory),
  };
}

function rolloutOfTrajectory({ turns, reward, metrics, logs }: StoredTrajectory): ShownRollout {
  const answers = turns.filter(({ role }) => role === 'assistant');
  return {
    reward,
    stopReason: stopReasonOf(metrics, answers.at(-1)?.metadata['stop_reason']),
    turns: answers.length,
    tokens: answers.reduce((sum, turn) => sum + turn.token_count, 0),
    metrics,
    logs: Object.fromEntries(Object.entries(logs).flatMap(([name, value]) => textEntry(name, value))),
    messages: turns
      .filter(({ role, content }) => role !== 'grader' || content !== '')
      .map(({ role, content, metadata }) => ({ role: roleOf(role, metadata['role']), text: content })),
  };
}

/** Turns of an environment say which role they had in the conversation, e.g. `tool`. */
function roleOf(role: string, own: unknown): string {
  return role === 'environment' && typeof own === 'string' ? own : role;
}

function stopReasonOf(metrics: Readonly<Record<string, number>>, sampled: unknown): string | null {
  if (metrics['context_overflow']) return 'context_overflow';
  if (metrics['max_tokens_reached'] || sampled === 'length') return 'max_tokens';
  return typeof sampled === 'string' ? 'completed' : null;
}

/** The example's id stands above it, and what has no value says nothing. */
function textEntry(name: string, value: unknown): [string, string | number][] {
  if (name === 'example_id' || value === null || value === undefined) return [];
  return [[name, typeof value === 'string' || typeof value === 'number' ? value : JSON.stringify(value)]];
}
