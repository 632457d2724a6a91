import { log, patched } from '@temporalio/workflow';
import type { ControlRow } from '../../core/controls';
import type { EvaluationGate, GateMemory, GateScore } from '../../core/gates/gate';
import { changesTraining } from '../../core/gates/gate';
import type { GateVerdict } from '../../core/gates/judge-gate';
import { comparedWith, judgeGate, lackOfScore, lackToReplace } from '../../core/gates/judge-gate';
import type { ScoreRow } from '../../core/run';
import { bookkeeping } from '../activities';
import type { TrainingInput } from '../contracts';
import { promotionChange } from './checkpoint-changes';
import { failureMessage } from './failures';
import { gateAction } from './gate-actions';
import { knownScores, rememberedOf, scoreOfRow } from './gate-memory';
import type { PendingEvaluation, TrainingState } from './training-state';
import { rememberEvent, schedulesOf } from './training-state';

/** Writes a change into the run's record. */
type RecordChange = (
  state: TrainingState,
  request: { readonly by: string; readonly reason: string },
  changed: Pick<ControlRow, 'control' | 'step' | 'from' | 'to'>,
) => Promise<unknown>;

interface Decision {
  readonly schedule: string;
  readonly gate: EvaluationGate;
  readonly score: GateScore | null;
  readonly verdict: GateVerdict;
}

const BY = 'gate';

/**
 * Decides by the scores of an evaluation what its schedules' gates ask for: promotion, and what is done where a checkpoint
 * does not pass. Training that a gate can change waits until it has decided.
 *
 * Every decision is a function of scores and is written down. A score that is missing, because its evaluator failed or was left
 * out, holds promotion and does nothing else. The score of step 0 is only compared with.
 */
export class GateDesk {
  constructor(
    private readonly input: TrainingInput,
    private readonly record: RecordChange,
  ) {}

  async judge(
    state: TrainingState,
    { step, request, schedules, evaluators, skipped = [] }: PendingEvaluation,
    rows: readonly ScoreRow[],
  ): Promise<void> {
    const measured = [...evaluators, ...skipped];
    const gated = schedulesOf(state, step).filter(
      ({ name, gate }) => gate && schedules.includes(name) && measured.includes(gate.evaluator),
    );
    if (request !== undefined || gated.length === 0) return;
    const decisions: Decision[] = [];
    for (const { name, gate } of gated) {
      if (!gate) continue;
      const score = scoreOf(rows, { step, schedule: name, gate });
      if (step === 0) remember(state, name, { base: score });
      else decisions.push(await this.decide(state, { schedule: name, gate, score }));
    }
    const isHeld = decisions.some(({ verdict }) => verdict.outcome !== 'passed');
    for (const decision of decisions) await this.follow(state, decision, { step, isHeld });
  }

  private async decide(state: TrainingState, asked: Omit<Decision, 'verdict'>): Promise<Decision> {
    const { schedule, gate, score } = asked;
    const known = await knownScores(state, schedule, gate);
    const other = comparedWith(gate, known);
    const paired = score && other && gate.on === 'interval' ? await this.pair(gate, score, other) : null;
    return { ...asked, verdict: judgeGate(gate, { ...known, score, paired }) };
  }

  private pair({ evaluator }: EvaluationGate, score: GateScore, other: GateScore) {
    const { run } = this.input;
    const difference = score.value - other.value;
    return bookkeeping.pairScores({ run, evaluator, step: score.step, otherStep: other.step, difference });
  }

  private async follow(
    state: TrainingState,
    decision: Decision,
    { step, isHeld }: { readonly step: number; readonly isHeld: boolean },
  ): Promise<void> {
    const { schedule, gate, verdict } = decision;
    const reason = `${verdict.text} (gate of "${schedule}")`;
    if (verdict.outcome === 'passed') {
      const to = isHeld ? 'passed, held by another gate' : await this.promote(state, decision, reason);
      if (to !== null) await this.write(state, { step, to, reason });
      return;
    }
    const isDone = verdict.outcome === 'failed' && changesTraining(gate);
    const change = isDone
      ? gateAction(gate.otherwise, { state, step, reason, initial: this.input.config.learningRate })
      : null;
    change?.apply();
    if (change) await this.record(state, { by: BY, reason }, change.row);
    else
      await this.write(state, {
        step,
        to: verdict.outcome === 'failed' ? 'held' : 'undecided, held',
        reason,
      });
  }

  /** Null where it was promoted, which has a row of its own; else what became of a checkpoint that passed. */
  private async promote(
    state: TrainingState,
    { schedule, gate, score }: Decision,
    reason: string,
  ): Promise<string | null> {
    if (!gate.promotes || score === null) return 'passed';
    const { best, base, unmeasured } = await knownScores(state, schedule, gate);
    if (unmeasured !== null) return `passed, not promoted: ${lackOfScore(gate, unmeasured)}`;
    const lack = await this.lackToReplace(gate, score, best ?? baseToBeat(base));
    if (lack !== null) return `passed, ${lack}`;
    try {
      const { row, apply } = await promotionChange({ checkpoint: score.step, by: BY, reason }, state);
      apply();
      remember(state, schedule, { best: score });
      await this.record(state, { by: BY, reason }, row);
      return null;
    } catch (error) {
      log.warn('a checkpoint that passed its gate was not promoted', { reason: failureMessage(error) });
      return `passed, not promoted: ${failureMessage(error)}`;
    }
  }

  private async lackToReplace(
    gate: EvaluationGate,
    score: GateScore,
    other: GateScore | null,
  ): Promise<string | null> {
    if (!other) return null;
    const paired = gate.by === 'significance' ? await this.pair(gate, score, other) : null;
    return lackToReplace(gate, { score, other, paired });
  }

  private async write(
    state: TrainingState,
    { step, to, reason }: { readonly step: number; readonly to: string; readonly reason: string },
  ): Promise<void> {
    if (to !== 'passed') rememberEvent(state, 'gate', `step ${step} ${to}: ${reason}`);
    await this.record(state, { by: BY, reason }, { control: 'gate', step, from: null, to });
  }
}

/** Histories that were recorded before promoted a first checkpoint whatever the base had. */
function baseToBeat(base: GateScore | null): GateScore | null {
  return base && patched('first-promotion-beats-base') ? base : null;
}

function scoreOf(
  rows: readonly ScoreRow[],
  {
    step,
    schedule,
    gate,
  }: { readonly step: number; readonly schedule: string; readonly gate: EvaluationGate },
): GateScore | null {
  const row = rows.find(
    (one) =>
      one.step === step &&
      one.schedule === schedule &&
      one.evaluator === gate.evaluator &&
      one.key === gate.metric &&
      one.error === undefined,
  );
  return row ? scoreOfRow(row) : null;
}

function remember(state: TrainingState, schedule: string, known: Partial<GateMemory>): void {
  const memory = rememberedOf(state, schedule);
  state.gates = { ...state.gates, [schedule]: { ...memory, ...known } };
}
