import type { ControlRow } from './controls';
import type { CarriedChanges } from './controls/carried-changes';
import type { GateMemory } from './gates/gate';
import type { ModelIncarnation, Snapshot, TimedStep, TrainingPlan } from './training-plan';

/** What a run's folder says of it, for a workflow that goes on where another one ended. */
export interface ContinuedRun extends CarriedChanges {
  readonly plan: TrainingPlan;
  /** The step it goes on from: that of a kept checkpoint before which no evaluation lacks what it measures; -1 for the start. */
  readonly step: number;
  /** Steps that may have been sent, by whichever life. */
  readonly sentThrough: number;
  /** Tokens trained on at the last step collected. */
  readonly tokens: number;
  /** The life of the model that was, to be ended before the next one begins. */
  readonly lost: ModelIncarnation | null;
  /** Models that saved snapshots of its saved states, and are gone; absent where none had to. */
  readonly savers?: readonly string[];
  /** Writes of the run that came before; later ones have higher numbers. */
  readonly writes: number;
  /** Evaluations that have no result, or whose gate has not decided, each with the snapshot it measures and its weights' lineage. */
  readonly due: readonly DueEvaluation[];
  /** Steps to be trained at which the clock had asked for schedules that have no result; absent where there are none. */
  readonly timed?: readonly TimedStep[];
  /** Those that people asked for. */
  readonly asked: readonly AskedEvaluation[];
  readonly askedCount: number;
  readonly best: { readonly step: number; readonly name: string } | null;
  readonly gates: Readonly<Record<string, GateMemory>>;
  readonly rewinds: number;
  readonly stepsReplayed: number;
  readonly remarks: readonly string[];
  readonly recentControls: readonly ControlRow[];
}

export interface DueEvaluation extends Snapshot {
  /** Evaluators that have their results for all of its schedules. */
  readonly recorded?: readonly string[];
  readonly lineage: number;
}

export interface AskedEvaluation {
  readonly request: number;
  readonly step: number;
  readonly evaluators: readonly string[];
  /** null where its step is trained again, which makes one. */
  readonly snapshot: {
    readonly samplerPath: string;
    readonly isCheckpoint: boolean;
    readonly lineage: number;
  } | null;
}

/** What became of a run that is to be gone on with. */
export type RunRemains =
  | { readonly found: 'continued'; readonly run: ContinuedRun }
  /** It had ended by itself: there is nothing left to do. */
  | {
      readonly found: 'ended';
      readonly report: {
        readonly status: 'completed' | 'stopped';
        readonly step: number;
        readonly totalSteps: number;
        readonly finalWeightsDigest: string | null;
      };
    }
  /** It was not prepared to the end, and is prepared anew. */
  | { readonly found: 'nothing' };
