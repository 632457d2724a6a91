import type { JudgeMethod } from '../../graders/grader';
import { conversationText } from '../conversation-text';
import { medianOf } from '../panel';
import { readRating } from '../read-verdicts';
import { loadTemplate, messagesOf, stampOf } from '../template';

export interface SingleScoreOptions {
  /** Both ends belong to it. */
  readonly scale?: readonly [lowest: number, highest: number];
}

const SCALE = [1, 10] as const;
const MAX_TOKENS = 4096;

/** One answer rated by itself, 1 to 10 unless told, as 0…1. A number outside of the scale is no rating. */
export function singleScore({ scale = SCALE }: SingleScoreOptions = {}): JudgeMethod {
  const template = loadTemplate('single_score');
  const [lowest, highest] = scale;
  return {
    name: 'single_score',
    version: `${stampOf(template)} ${lowest} to ${highest}`,
    async vote(desk, completion, example) {
      const texts = { question: conversationText(example), answer: completion };
      const request = messagesOf(template, texts, { lowest: String(lowest), highest: String(highest) });
      const reply = await desk.ask({ stage: 'rating', messages: request, maxTokens: MAX_TOKENS });
      const rating = readRating(reply);
      if (rating === null || rating < lowest || rating > highest)
        return { answer: null, value: 0, explanation: reply };
      return {
        answer: String(rating),
        value: (rating - lowest) / (highest - lowest),
        metrics: { rating },
        explanation: reply,
      };
    },
    combine: medianOf,
  };
}
