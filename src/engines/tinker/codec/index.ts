/** Both codecs of the Tinker protocol, each in both directions, for the client and for servers of the protocol. */
export { asampleRequestFromJson, asampleRequestToJson } from './asample-request';
export {
  forwardBackwardRequestFromJson,
  forwardBackwardRequestInSteps,
  forwardBackwardRequestToJson,
} from './json-request';
export {
  forwardBackwardOutputFromJson,
  forwardBackwardOutputText,
  forwardBackwardOutputToJson,
  sampleResponseFromJson,
  sampleResponseToJson,
} from './json-results';
export type { AsampleRequest, ForwardBackwardRequest } from './messages';
export { checkDatum } from './messages';
export {
  decodeForwardBackwardRequest,
  encodeDatumAhead,
  encodeForwardBackwardRequest,
} from './protobuf-request';
export { readRequestEnvelope } from './request-envelope';
export {
  decodeForwardBackwardOutput,
  decodeSampleResponse,
  encodeForwardBackwardOutput,
  encodeSampleResponse,
} from './protobuf-results';
