import type { ToolDeclaration } from '../../core/completion';
import type { Message } from '../../core/conversation';
import type { ActionFacts } from '../../core/environment';
import { answerText, messageText } from '../../evaluation/runner/message-text';
import type { TrainingEnvironment, TrainingStep } from './environment-dataset';

export interface JudgedAnswer {
  /** 0 wrong … 1 right. */
  readonly correct: number;
  /** What is rewarded instead, e.g. for coming closer. */
  readonly credit?: number;
  /** What was read as the answer; null when there is none. */
  readonly answer: string | null;
  readonly metrics?: Readonly<Record<string, number>>;
  readonly logs?: Readonly<Record<string, unknown>>;
}

/** A question with one answer. */
export interface Problem {
  readonly prompt: readonly Message[];
  /** What the model may call; its calls are a part of its answer. */
  readonly tools?: readonly ToolDeclaration[] | undefined;
  readonly checkAnswer: (completion: string, facts: ActionFacts) => JudgedAnswer | Promise<JudgedAnswer>;
  /** Whether the answer stands in the form that was asked for; default: there is one. */
  readonly checkFormat?: (completion: string, judged: JudgedAnswer) => boolean;
  /** Judging bounds its time itself, and waiting for a place to judge in is nobody's time. */
  readonly boundsItself?: true;
  /** How `correct` is called where it is no share of right answers. */
  readonly valueName?: string;
  /** Taken off where the form is wrong or the reply has no proper end. */
  readonly formatPenalty: number;
}

/** The field's coefficient (tinker-cookbook, `ProblemEnv`). */
export const FORMAT_PENALTY = 0.1;

/**
 * One turn: reward = correct (or credit) − penalty where the format is wrong. Also a reply that was cut off is judged; its format is
 * wrong, because it has no end.
 */
export function createProblemEnvironment(problem: Problem): TrainingEnvironment {
  return {
    judgesCutReplies: true,
    ...(problem.boundsItself && { boundsItself: true }),
    initialObservation: () => ({ messages: problem.prompt, ...(problem.tools && { tools: problem.tools }) }),
    async step(action, facts) {
      const completion = problem.tools ? answerText(action) : messageText(action);
      const judged = await problem.checkAnswer(completion, facts);
      return stepOf(problem, judged, hasFormat(problem, completion, { judged, facts }));
    },
    // A question that was never answered, e.g. for want of room, counts among those that were answered wrong.
    gradeEarlyEnd: () => ({ reward: 0, metrics: { [valueNameOf(problem)]: 0, format: 0 } }),
  };
}

function hasFormat(
  { checkFormat }: Problem,
  completion: string,
  { judged, facts }: { readonly judged: JudgedAnswer; readonly facts: ActionFacts },
): boolean {
  const hasEnd = facts.stopReason === 'stop' && !facts.isMalformed;
  return hasEnd && (checkFormat?.(completion, judged) ?? judged.answer !== null);
}

function stepOf(problem: Problem, judged: JudgedAnswer, isFormatted: boolean): TrainingStep {
  const { correct, credit = correct, answer, metrics, logs } = judged;
  return {
    reward: credit - (isFormatted ? 0 : problem.formatPenalty),
    isDone: true,
    nextMessages: [],
    answer,
    metrics: { ...metrics, [valueNameOf(problem)]: correct, format: Number(isFormatted) },
    ...(logs && { logs }),
  };
}

function valueNameOf({ valueName = 'correct' }: Problem): string {
  return valueName;
}
