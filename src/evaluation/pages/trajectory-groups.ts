import type { StoredTrajectory, StoredTurn } from '../../stores/eval-store';
import { stopReasonOf } from '../../stores/eval-store';
import { callLines } from '../../stores/turn-calls';
import type { ShownGroup, ShownRollout } from './shown-group';

/** An example a group. Samples of one stand together, so that only those of one are held. */
export function* trajectoryGroups(trajectories: Iterable<StoredTrajectory>): Generator<ShownGroup> {
  let group = 0;
  let open: StoredTrajectory[] = [];
  for (const trajectory of trajectories) {
    const [first] = open;
    if (first && first.example_id !== trajectory.example_id) {
      yield groupOfTrajectories(group++, first, open);
      open = [];
    }
    open.push(trajectory);
  }
  const [first] = open;
  if (first) yield groupOfTrajectories(group, first, open);
}

function groupOfTrajectories(
  group: number,
  { example_id: id, benchmark }: StoredTrajectory,
  trajectories: readonly StoredTrajectory[],
): ShownGroup {
  return {
    ...{ group, id, tags: [benchmark] },
    ...{ errors: trajectories.flatMap(({ error }) => error ?? []), errorMessages: [] },
    rollouts: trajectories.map(rolloutOfTrajectory),
  };
}

function rolloutOfTrajectory({ turns, reward, metrics, logs }: StoredTrajectory): ShownRollout {
  const answers = turns.filter(({ role }) => role === 'assistant');
  return {
    reward,
    stopReason: stopReasonOf({ logs }) ?? endOfAnswer(metrics, answers.at(-1)?.metadata['stop_reason']),
    turns: answers.length,
    tokens: answers.reduce((sum, turn) => sum + turn.token_count, 0),
    metrics,
    logs: Object.fromEntries(Object.entries(logs).flatMap(([name, value]) => textEntry(name, value))),
    messages: turns
      .filter(({ role, content }) => role !== 'grader' || content !== '')
      .map((turn) => ({ role: roleOf(turn.role, turn.metadata['role']), text: textOfTurn(turn) })),
  };
}

function textOfTurn(turn: StoredTurn): string {
  return [turn.content, ...callLines(turn)].filter((line) => line !== '').join('\n');
}

/** Turns of an environment say which role they had in the conversation, e.g. `tool`. */
function roleOf(role: string, own: unknown): string {
  return role === 'environment' && typeof own === 'string' ? own : role;
}

function endOfAnswer(metrics: Readonly<Record<string, number>>, sampled: unknown): string | null {
  if (metrics['context_overflow']) return 'context_overflow';
  if (metrics['max_tokens_reached'] || sampled === 'length') return 'max_tokens';
  return typeof sampled === 'string' ? 'completed' : null;
}

/** The example's id stands above it, and what has no value says nothing. */
function textEntry(name: string, value: unknown): [string, string | number][] {
  if (name === 'example_id' || value === null || value === undefined) return [];
  return [[name, typeof value === 'string' || typeof value === 'number' ? value : JSON.stringify(value)]];
}
