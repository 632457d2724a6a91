import type { SampleResult } from '../../../core/sampling';
import { bytesOfScores } from '../../../core/sampling-scores';
import { encodeSampleResponse, sampleResponseToJson } from '../../tinker/codec';
import type { FutureResult } from './future-store';

const NUMBER_BYTES = 8;

export function sampleFuture(result: SampleResult): FutureResult {
  const prompt = result.promptLogprobs?.length ?? 0;
  const numbers = result.sequences.reduce(
    (sum, { tokens, logprobs }) => sum + tokens.length + (logprobs?.length ?? 0),
    prompt,
  );
  return {
    bytes: numbers * NUMBER_BYTES + bytesOfScores(result),
    json: () => sampleResponseToJson(result),
    protobuf: () => encodeSampleResponse(result),
  };
}
