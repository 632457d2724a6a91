import { isDeeperThan } from '../../../core/json-depth';
import { ProtocolError } from './protocol-error';

const DEEPEST = 64;

/** Refuses with 422 what is nested too deep to be walked by recursion: digests, JSON and checks all do. */
export function checkDepth(body: unknown): void {
  if (isDeeperThan(body, DEEPEST)) throw tooDeep();
}

export function tooDeep(): ProtocolError {
  return new ProtocolError(
    422,
    `Invalid request: lists and objects lie more than ${DEEPEST} deep in one another. Flatten the body.`,
  );
}
