import { patched } from '@temporalio/workflow';
import type { EvaluationGate, GateMemory, GateScore } from '../../core/gates/gate';
import type { CheckpointStep } from '../../core/gates/judge-gate';
import type { ScoreRow } from '../../core/run';
import { bookkeeping } from '../activities';
import type { TrainingState } from './training-state';

/** What a gate compares with, as it is now. */
export interface KnownScores extends GateMemory {
  /** A checkpoint that somebody promoted and nobody measured; null where the best has a score. */
  readonly unmeasured: CheckpointStep | null;
}

const NOTHING_KNOWN: GateMemory = { base: null, best: null };

export function rememberedOf({ gates }: TrainingState, schedule: string): GateMemory {
  return gates?.[schedule] ?? NOTHING_KNOWN;
}

/** What somebody promoted meanwhile is the best, however long ago it was measured. */
export async function knownScores(
  state: TrainingState,
  schedule: string,
  gate: EvaluationGate,
): Promise<KnownScores> {
  const { best, recentScores, plan } = state;
  const memory = { ...rememberedOf(state, schedule), unmeasured: null };
  if (!best || best.step === memory.best?.step) return memory;
  const isWanted = ({ step, key, value }: ScoreRow) =>
    step === best.step && key === gate.metric && value !== null;
  const recent = recentScores.findLast(isWanted);
  if (recent) return { ...memory, best: scoreOfRow(recent) };
  if (!patched('gate-compares-with-promoted')) return memory;
  const { evaluator, metric } = gate;
  const stored = await bookkeeping.findScore({ run: plan.run, step: best.step, evaluator, key: metric });
  const score = stored && scoreOfRow(stored);
  return { ...memory, best: score, unmeasured: score === null ? { run: plan.run, step: best.step } : null };
}

/** null where it has no value. */
export function scoreOfRow({ step, value, stderr, n, clusters }: ScoreRow): GateScore | null {
  return value === null ? null : { step, value, stderr, n, ...(clusters !== undefined && { clusters }) };
}
