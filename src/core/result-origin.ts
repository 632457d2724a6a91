/** One time that stored answers were graded again. */
export interface Regrading {
  /** ISO time. */
  readonly at: string;
  /** Version of the grader that judged them then, with the digest of the plug-in file it came from. */
  readonly grader: string;
  readonly before: {
    readonly grader: string;
    /** null where the evaluation had no result yet. */
    readonly score: number | null;
    /** Its result and trajectories, e.g. `gradings/1/gsm8k` in the folder of the benchmark; null where it had none. */
    readonly folder: string | null;
  };
}

/** Answers that another eval run had paid for. */
export interface TakenAnswers {
  /** Folder of that eval run. */
  readonly folder: string;
  /** Samples whose answer was taken; the others were asked for. */
  readonly taken: number;
}
