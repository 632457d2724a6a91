import { makeExampleId } from '../../../evaluation/example';
import { messageText } from '../../../evaluation/runner/message-text';
import type {
  EnvironmentDataset,
  EnvironmentGroup,
  TrainingEnvironment,
  TrainingStep,
} from '../environment-dataset';
import { splitDataset } from '../listed-dataset';
import type { AnsweringPlayer } from './answering-player';
import { answerFromKnowledge, guessIn } from './answering-player';
import type { Thing } from './things';
import { THINGS } from './things';

export interface TwentyQuestionsOptions {
  readonly maxQuestions: number;
  readonly testSize: number;
  /** Default: answers from what is known of the things. */
  readonly player?: AnsweringPlayer;
}

/** The model asks, another player answers, until the thing is named or the questions are used up. Reward 1 for naming it. */
export function twentyQuestions(options: TwentyQuestionsOptions): EnvironmentDataset {
  const groupOf = (secret: Thing) => groupOfThing(secret, options);
  return splitDataset('twenty_questions', THINGS, { groupOf, testSize: options.testSize });
}

function groupOfThing(secret: Thing, options: TwentyQuestionsOptions): EnvironmentGroup {
  return {
    id: makeExampleId('twenty_questions', secret.name),
    tags: ['twenty_questions'],
    make: () => playWith(secret, options),
  };
}

function playWith(
  secret: Thing,
  { maxQuestions, player = answerFromKnowledge }: TwentyQuestionsOptions,
): TrainingEnvironment {
  let questionCount = 0;
  const prompt =
    `I think of a thing. Find out what it is with at most ${maxQuestions} questions that I can answer with yes or no. ` +
    'Ask one question at a time. To guess, ask "Is it …?" with the name of the thing.';

  return {
    initialObservation: () => ({ messages: [{ role: 'user', content: prompt }] }),
    async step(action, { signal }) {
      questionCount += 1;
      const question = messageText(action);
      const guess = guessIn(question);
      if (guess === secret.name) return ended(1, questionCount, 'completed');
      const answer = guess === null ? await player({ secret, question }, signal) : 'No.';
      if (questionCount >= maxQuestions) return ended(0, questionCount, 'max_turns');
      return { reward: 0, isDone: false, nextMessages: [{ role: 'user', content: answer }] };
    },
    gradeEarlyEnd: () => ({ reward: 0, metrics: { correct: 0, questions: questionCount } }),
  };
}

function ended(correct: number, questionCount: number, stopReason: string): TrainingStep {
  const metrics = { correct, questions: questionCount };
  return { reward: correct, isDone: true, nextMessages: [], stopReason, metrics };
}
