import type { JudgeSource } from '../../core/benchmark-run';
import type { Message } from '../../core/conversation';
import { DomainError } from '../../core/errors';
import { placeOfRow } from '../../datasets/row-place';
import type { Example } from '../../evaluation/example';
import type { Grader, Score } from '../../evaluation/graders/grader';
import type { EnvironmentBounds, EnvironmentGroup } from './environment-dataset';
import type { JudgedAnswer, Problem } from './problem-environment';
import { createProblemEnvironment } from './problem-environment';

export interface ExampleProblem extends Pick<Problem, 'formatPenalty' | 'checkFormat' | 'valueName'> {
  readonly example: Example;
  readonly grader: Grader;
  readonly tags: readonly string[];
  /** Messages before the question: a system prompt, examples of how to answer. */
  readonly prefix?: readonly Message[];
  /** Who judges, where the grader asks models. */
  readonly judges?: readonly JudgeSource[] | undefined;
  /** Part of the score that is the reward; default: its value. */
  readonly rewardOf?: (score: Score) => number;
}

/** Any question with a grader is a problem to train on. Reasoning that is told apart never reaches the grader. */
export function exampleGroup(problem: ExampleProblem): EnvironmentGroup {
  const { example, tags, prefix = [], formatPenalty, checkFormat, valueName } = problem;
  const place = placeOfRow(example);
  return {
    id: example.id,
    tags,
    ...(place && { place }),
    ...(problem.grader.judging && { isJudged: true }),
    make(_member, bounds) {
      const grader = openedGrader(problem, bounds);
      return createProblemEnvironment({
        prompt: [...prefix, ...example.messages],
        tools: example.tools,
        formatPenalty,
        ...(checkFormat && { checkFormat }),
        ...(valueName !== undefined && { valueName }),
        ...(grader.boundsItself && { boundsItself: true }),
        checkAnswer: async (completion) => judgedAnswer(problem, await grader.grade(completion, example)),
      });
    },
  };
}

function openedGrader(
  { grader, judges = [] }: ExampleProblem,
  bounds: EnvironmentBounds | undefined,
): Grader {
  if (!grader.judging) return grader;
  if (bounds?.askJudges) return bounds.askJudges(grader, judges);
  throw new DomainError('bad-config', `${grader.name} is judged by a model, which only workers reach.`);
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
