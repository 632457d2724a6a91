/**
 * A gate as data: a rule over one score of each evaluation of a schedule. A checkpoint that passes is promoted where it is
 * better than the best so far, see `by`; where it does not pass, promotion is held and `otherwise` is done.
 */
export interface EvaluationGate {
  /** Name of the evaluator that gives the score. */
  readonly evaluator: string;
  /** Key of the score, e.g. `test/arithmetic/accuracy`. */
  readonly metric: string;
  readonly rule: GateRule;
  /** `interval`: the rule has to hold for the whole 95 % interval; `value`: for the number alone. */
  readonly on: 'interval' | 'value';
  readonly otherwise: GateAction;
  /**
   * What takes the place of the best: a score whose difference from it is better with significance, or one whose number is.
   * Absent in runs begun before there was a choice: the number.
   */
  readonly by?: 'significance' | 'point';
  /** False where it only decides; another gate promotes. */
  readonly promotes: boolean;
  readonly higherIsBetter: boolean;
}

/** Numbers of the last two are levels of confidence, such as 0.95. */
export type GateRule =
  | { readonly atLeast: number }
  | { readonly atMost: number }
  | { readonly notWorseThanBest: number }
  | { readonly improvesOnBase: number };

/** What is done besides holding promotion. The number multiplies the peak learning rate. */
export type GateAction = 'hold' | 'stop' | 'pause' | { readonly learningRate: number };

/** One score as gates see it. */
export interface GateScore {
  readonly step: number;
  readonly value: number;
  readonly stderr: number | null;
  readonly n: number;
  /** Independent parts of `n`, where several hang together. */
  readonly clusters?: number;
}

/** What a gate compares with; it travels with the run. */
export interface GateMemory {
  /** Step 0: the model before training. */
  readonly base: GateScore | null;
  /** The checkpoint that was promoted last, by the gate or by a person. */
  readonly best: GateScore | null;
}

/** Whether it takes part in what the model becomes; such a gate is waited for. */
export function changesTraining({ otherwise }: Pick<EvaluationGate, 'otherwise'>): boolean {
  return otherwise !== 'hold';
}
