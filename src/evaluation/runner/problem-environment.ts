import type { Message } from '../../core/conversation';
import type { EnvironmentStep, MessageEnvironment } from '../../core/environment';
import type { Example } from '../example';
import type { Grader, Score } from '../graders/grader';
import { answerText, messageText } from './message-text';

/** A question with one answer, judged by a grader. Reasoning that is told apart never reaches the grader. */
export function createProblemEnvironment(example: Example, grader: Grader): MessageEnvironment {
  return {
    initialObservation: () => ({
      messages: example.messages,
      ...(example.tools && { tools: example.tools }),
    }),
    step(action: Message) {
      const completion = example.tools ? answerText(action) : messageText(action);
      const judged = grader.grade(completion, example);
      return 'then' in judged ? judged.then(stepOf) : stepOf(judged);
    },
  };
}

function stepOf(score: Score): EnvironmentStep {
  if (!Number.isFinite(score.value) || score.value < 0 || score.value > 1) {
    throw new Error(`a score must be a number from 0 to 1, not ${String(score.value)}`);
  }
  const { explanation, details } = score;
  const hasLogs = explanation !== undefined || details !== undefined;
  return {
    reward: score.value,
    isDone: true,
    nextMessages: [],
    answer: score.answer,
    ...(score.metrics && { metrics: score.metrics }),
    ...(hasLogs && {
      logs: { ...(explanation !== undefined && { explanation }), ...(details && { details }) },
    }),
  };
}
