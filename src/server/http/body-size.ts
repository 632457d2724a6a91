import type { Steps } from '../../core/concurrency/steps';
import { countingJsonParts } from '../../core/json-parts';
import { RequestError } from './request-error';

/** Several times what the longest chats have. */
const MOST_PARTS = 100_000;
const MOST_KEYS = 200_000;
/** Twice what a schema or a call may have. */
const DEEPEST = 200;

/** Refuses a body that would become far more than its text, before it is parsed. */
export function* checkBodySize(text: string): Steps<void> {
  const { parts, keys, depth } = yield* countingJsonParts(text);
  if (parts <= MOST_PARTS && keys <= MOST_KEYS && depth <= DEEPEST) return;
  throw new RequestError(400, {
    message: `The body holds ${parts} lists and objects with ${keys} keys, ${depth} deep in one another; at most ${MOST_PARTS} with ${MOST_KEYS} keys are taken, ${DEEPEST} deep.`,
  });
}
