import * as bodies from '../../../src/engines/local/server/bodies';
import { finish } from '../../../src/core/concurrency/steps';
import { checkJsonParts } from '../../../src/engines/local/server/request-limits';
import {
  asampleRequestFromJson,
  forwardBackwardOutputFromJson,
  forwardBackwardRequestFromJson,
  sampleResponseFromJson,
} from '../../../src/engines/tinker/codec';
import type { FuzzTarget } from '../target';
import { jsonOf, passAll, textOf } from '../target';

const SCHEMAS = [
  ...[bodies.CreateSessionBody, bodies.SessionBody, bodies.CreateModelBody, bodies.OptimStepBody],
  ...[bodies.SaveWeightsBody, bodies.SaveForSamplerBody, bodies.SaveExternalBody, bodies.CopyWeightsBody],
  ...[
    bodies.LoadIntoModelBody,
    bodies.LoadNewModelBody,
    bodies.CreateSamplingSessionBody,
    bodies.SampleLimits,
  ],
  ...[bodies.ForwardBackwardEnvelope, bodies.TtlBody, bodies.PageQuery],
];
const READERS = [
  asampleRequestFromJson,
  forwardBackwardRequestFromJson,
  forwardBackwardOutputFromJson,
  sampleResponseFromJson,
];
const tensor = (data: number[], dtype: string) => ({ data, dtype, shape: [data.length] });

/** Bodies of the training engine and answers of a training service, in their JSON form. */
export const target: FuzzTarget = {
  name: 'engine-bodies',
  seeds: () =>
    [
      { tags: ['a'], user_metadata: { a: 'b' }, sdk_version: '1' },
      { session_id: 's', model_seq_id: 0, base_model: 'everstep/tiny', lora_config: { rank: 8, seed: 1 } },
      { model_id: 'm', seq_id: 2, adam_params: { learning_rate: 0.1, beta1: 0.9, beta2: 0.99, eps: 1e-8 } },
      { model_id: 'm', path: 'a', seq_id: 3, ttl_seconds: 5 },
      {
        model_id: 'm',
        seq_id: 1,
        forward_backward_input: {
          loss_fn: 'cross_entropy',
          data: [
            {
              model_input: { chunks: [{ type: 'encoded_text', tokens: [1, 2, 3] }] },
              loss_fn_inputs: {
                target_tokens: tensor([2, 3, 4], 'int64'),
                weights: tensor([1, 1, 0], 'float32'),
              },
            },
          ],
        },
      },
      {
        sampling_session_id: 's',
        seq_id: 1,
        num_samples: 2,
        prompt: { chunks: [{ type: 'encoded_text', tokens: [1, 2] }] },
        sampling_params: { max_tokens: 5, temperature: 1, stop: ['x'] },
      },
      {
        loss_fn_output_type: 'x',
        loss_fn_outputs: [{ logprobs: tensor([0.5], 'float32') }],
        metrics: { 'loss:sum': 1 },
      },
      { sequences: [{ stop_reason: 'stop', tokens: [1, 2], logprobs: [-0.1, -0.2] }], type: 'sample' },
    ].map((body) => JSON.stringify(body)),
  words: ['int64', 'float32', 'shape', 'data', 'tinker://m/weights/a', 'sparse_crow_indices'],
  run(bytes) {
    const body = jsonOf(bytes);
    return passAll([
      () => {
        finish(checkJsonParts(textOf(bytes)));
      },
      ...SCHEMAS.map((schema) => () => bodies.parseBody(schema, body)),
      ...READERS.map((read) => () => read(body)),
    ]);
  },
};
