import type { Steps } from './concurrency/steps';
import { reachingPrototype } from './json-flaws';
import { parseJsonInPieces } from './parse-json-in-pieces';

const BYTE_ORDER_MARK = 0xfeff;

/** What the text of a request says; undefined where it is no JSON, or would change the prototype of what is made of it. */
export function* parseRequestJson(text: string): Steps<unknown> {
  try {
    const value = yield* parseJsonInPieces(text.charCodeAt(0) === BYTE_ORDER_MARK ? text.slice(1) : text);
    return (yield* reachingPrototype(text, value)) ? undefined : value;
  } catch {
    return undefined;
  }
}
