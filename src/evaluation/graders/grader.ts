import type { JudgeSource } from '../../core/benchmark-run';
import type { ToolDeclaration } from '../../core/completion';
import type { Message } from '../../core/conversation';
import type { PythonName } from '../../core/python';
import type { StoredResult } from '../../stores/eval-store';
import type { Example } from '../example';

/** One completion judged. */
export interface Score {
  /** 0 wrong … 1 right. */
  readonly value: number;
  /** What was read as the answer; null when the completion has none. */
  readonly answer: string | null;
  readonly explanation?: string;
  /** Numbers beside the score, 0…1 where they are rates. */
  readonly metrics?: Readonly<Record<string, number>>;
  /** What a person may want to know of how the score came about. */
  readonly details?: Readonly<Record<string, unknown>>;
}

/**
 * Judges completions. A completion that cannot be read scores 0; throwing means that the grader itself failed and
 * should be asked again.
 */
export interface Grader {
  readonly name: string;
  /** Changes with anything that moves a score; part of the identity of results and of the journal's keys. */
  readonly version: string;
  /** Judged by a Python worker; such a grader is opened before it judges. */
  readonly python?: PythonName;
  /** How it asks judges; such a grader is opened before it judges. */
  readonly judging?: JudgeMethod;
  /** It bounds its time itself, and waiting for whoever judges is not the example's. */
  readonly boundsItself?: true;
  grade(completion: string, example: Example): Score | Promise<Score>;
  /** Metrics of many completions from the mean of each metric; the means themselves where absent. */
  summarize?(means: Readonly<Record<string, number>>): Readonly<Record<string, number>>;
  /** The score of many completions, where it is more than their mean. Throws where there is none. */
  total?(units: readonly TotalledUnit[]): GraderTotal;
}

/** One completion among those that a benchmark is summed up from. */
export interface TotalledUnit {
  readonly exampleId: string;
  /** What several examples hang together by; null where this one stands alone. */
  readonly cluster: string | null;
  /** 0 where there was an error, or the completion was cut off. */
  readonly value: number;
  readonly metrics: Readonly<Record<string, number>>;
  /** Answered and judged. */
  readonly isComplete: boolean;
}

/** In place of what a result says else; metrics are added to the others. */
export type GraderTotal = Partial<
  Pick<
    StoredResult,
    'score' | 'stderr' | 'ci' | 'num_clusters' | 'score_completed' | 'num_completed' | 'metrics'
  >
>;

/** One judge's verdict of one completion. */
export interface Vote {
  /** null where the judge's words hold no verdict that was offered. */
  readonly answer: string | null;
  /** 0…1; of no meaning without an answer. */
  readonly value: number;
  readonly metrics?: Readonly<Record<string, number>>;
  /** What the judge said. */
  readonly explanation: string;
}

/** A request to a judge. */
export interface JudgeQuestion {
  /** What it is about, e.g. `grade`, `game-1`: how the journal calls the judgement. */
  readonly stage: string;
  readonly messages: readonly Message[];
  /** What the model that is asked may call; what it says is then read with its calls. */
  readonly tools?: readonly ToolDeclaration[];
  /** Where the judge's own limit is not given. */
  readonly maxTokens: number;
}

export interface JudgeDesk {
  /** What the judge says. Asked again, also by a later attempt, it is what was said before. */
  ask(question: JudgeQuestion): Promise<string>;
  /** As `ask`, of another model, e.g. of a baseline whose answers are compared with. */
  askModel(model: JudgeSource, question: JudgeQuestion): Promise<string>;
}

/** How judges are asked about a completion, and how their words become a score. */
export interface JudgeMethod {
  readonly name: string;
  /** Changes with anything that moves a score, the templates among it. */
  readonly version: string;
  vote(desk: JudgeDesk, completion: string, example: Example): Promise<Vote>;
  /** The votes of all judges as one score; the majority where absent. */
  combine?(votes: readonly Vote[]): Score;
  total?(units: readonly TotalledUnit[]): GraderTotal;
}
