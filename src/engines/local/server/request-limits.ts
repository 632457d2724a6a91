import type { FastifyInstance } from 'fastify';
import type { Steps } from '../../../core/concurrency/steps';
import { countingJsonParts } from '../../../core/json-parts';
import { tooDeep } from './body-depth';
import { ProtocolError } from './protocol-error';

const MEBIBYTE = 1024 * 1024;
/** Of the requests that carry tensors. */
export const BODY_LIMIT_BYTES = 64 * MEBIBYTE;
const PROMPT_LIMIT_BYTES = 16 * MEBIBYTE;
const SMALL_LIMIT_BYTES = 4 * MEBIBYTE;

const OF_TENSORS = /\/(forward|forward_backward)$/;
const OF_PROMPTS = /\/asample$/;

/** Shorter texts are not counted before they are read. */
const UNCOUNTED_LENGTH = MEBIBYTE / 4;
const MOST = { parts: 1_000_000, keys: 2_000_000 };
/** What is less deep is read, so that the number of a request which is refused holds back none after it. */
const DEEPEST_READ = 200_000;
/** Of a body without tensors and prompts: what describes a session or a checkpoint holds less. */
const MOST_SMALL = { parts: 200_000, keys: 200_000 };

/** How much a route reads at all: what no honest request needs would only cost memory. */
export function limitBodies(app: FastifyInstance, most: number): void {
  app.addHook('onRoute', (route) => {
    if (OF_TENSORS.test(route.url)) return;
    route.bodyLimit = Math.min(most, OF_PROMPTS.test(route.url) ? PROMPT_LIMIT_BYTES : SMALL_LIMIT_BYTES);
  });
}

/** Refuses with 422 a text that would become far more than it is. */
export function* checkJsonParts(text: string, route = ''): Steps<void> {
  if (text.length <= UNCOUNTED_LENGTH) return;
  const { parts, keys, depth } = yield* countingJsonParts(text);
  if (depth > DEEPEST_READ) throw tooDeep();
  const most = OF_TENSORS.test(route) || OF_PROMPTS.test(route) ? MOST : MOST_SMALL;
  if (parts <= most.parts && keys <= most.keys) return;
  throw new ProtocolError(
    422,
    `Invalid request: the body holds ${parts} lists and objects with ${keys} keys. Send it in several requests.`,
  );
}
