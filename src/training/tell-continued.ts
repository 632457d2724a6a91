import type { ContinuedRun } from '../core/continued-run';
import type { RunState } from '../core/run';
import type { EarlierEnd, RunEvent } from '../core/timeline';
import { endText } from '../core/timeline';
import type { RunStore } from '../stores/run-store';
import { recordEvents } from './record-events';

interface Continuation {
  /** As the run's last workflow left it. */
  readonly state: RunState;
  readonly continued: Pick<ContinuedRun, 'step'>;
  /** Steps that are measured from their saved states. */
  readonly measured: readonly number[];
  /** The last step that was collected. */
  readonly lastStep: number;
  /** The same in every attempt, so that it is told once. */
  readonly askedAt: string;
  readonly endedBefore?: EarlierEnd | undefined;
}

/**
 * Keeps in the run's timeline what ended it, and that it was continued: `state.json`, which said so, is about to be
 * that of a run that goes on. Repeating it adds nothing.
 */
export async function tellContinued(store: RunStore, continuation: Continuation): Promise<void> {
  const { state, continued, measured, lastStep, askedAt } = continuation;
  const { run } = state;
  const events: RunEvent[] = [
    ...earlierEnd(continuation),
    {
      at: askedAt,
      kind: 'continued',
      step: Math.max(0, continued.step),
      text: `${continuedText(continued.step, lastStep)}${measuredText(measured)}`,
    },
  ];
  await recordEvents(store, { run, events, epoch: (await store.latestEpoch(run)) + 1 });
}

/** By the run's own last word; where it had none, by what the server said. */
function earlierEnd({ state, lastStep, endedBefore }: Continuation): RunEvent[] {
  const { status, step, closedAt } = state;
  if (closedAt !== null) return [{ at: closedAt, kind: 'ended', step, text: endText(state) }];
  if (!endedBefore || status === 'completed') return [];
  return [{ ...endedBefore, kind: 'ended', step: Math.max(step, lastStep) }];
}

function continuedText(step: number, lastStep: number): string {
  const from = step < 0 ? 'from its beginning' : `from the checkpoint of step ${step}`;
  const first = Math.max(0, step) + 1;
  if (lastStep < first) return from;
  const again = lastStep === first ? `step ${first}` : `steps ${first} to ${lastStep}`;
  return `${from}: ${again}, and what was sent behind, trained again`;
}

function measuredText(steps: readonly number[]): string {
  if (steps.length === 0) return '';
  return `; measured from ${steps.length === 1 ? 'its saved state: step' : 'their saved states: steps'} ${steps.join(', ')}`;
}
