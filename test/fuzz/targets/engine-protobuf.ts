import {
  decodeForwardBackwardOutput,
  decodeForwardBackwardRequest,
  decodeSampleResponse,
  encodeForwardBackwardRequest,
  readRequestEnvelope,
} from '../../../src/engines/tinker/codec';
import { forwardBackwardRequestFromJson } from '../../../src/engines/tinker/codec';
import type { FuzzTarget } from '../target';
import { jsonOf, passAll } from '../target';
import { target as engineBodies } from './engine-bodies';

/** The same in the protocol's binary form. */
export const target: FuzzTarget = {
  name: 'engine-protobuf',
  seeds: () =>
    engineBodies.seeds().flatMap((seed) => {
      try {
        const body = jsonOf(Buffer.from(seed));
        return [encodeForwardBackwardRequest(forwardBackwardRequestFromJson(body))];
      } catch {
        return [];
      }
    }),
  run: (bytes) =>
    passAll(
      [
        decodeForwardBackwardRequest,
        decodeForwardBackwardOutput,
        decodeSampleResponse,
        readRequestEnvelope,
      ].map((read) => () => read(bytes)),
    ),
};
