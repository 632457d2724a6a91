import type { Message } from '../../core/conversation';
import type { Example } from '../../evaluation/example';
import type { Grader, Score } from '../../evaluation/graders/grader';
import type { EnvironmentGroup } from './environment-dataset';
import type { JudgedAnswer, Problem } from './problem-environment';
import { createProblemEnvironment } from './problem-environment';

export interface ExampleProblem extends Pick<Problem, 'formatPenalty' | 'checkFormat'> {
  readonly example: Example;
  readonly grader: Grader;
  readonly tags: readonly string[];
  /** Messages before the question: a system prompt, examples of how to answer. */
  readonly prefix?: readonly Message[];
  /** Part of the score that is the reward; default: its value. */
  readonly rewardOf?: (score: Score) => number;
}

/** Any question with a grader is a problem to train on. Reasoning that is told apart never reaches the grader. */
export function exampleGroup(problem: ExampleProblem): EnvironmentGroup {
  const { example, tags, prefix = [], formatPenalty, checkFormat } = problem;
  return {
    id: example.id,
    tags,
    make: () =>
      createProblemEnvironment({
        prompt: [...prefix, ...example.messages],
        formatPenalty,
        ...(checkFormat && { checkFormat }),
        ...(problem.grader.boundsItself && { boundsItself: true }),
        checkAnswer: async (completion) =>
          judgedAnswer(problem, await problem.grader.grade(completion, example)),
      }),
  };
}

function judgedAnswer({ rewardOf }: ExampleProblem, score: Score): JudgedAnswer {
  const { value, answer, metrics, explanation } = score;
  return {
    correct: value,
    ...(rewardOf && { credit: rewardOf(score) }),
    answer,
    ...(metrics && { metrics }),
    ...(explanation !== undefined && { logs: { explanation } }),
  };
}
