import { readModelName } from '../../../../src/server/gateway/model-name';

const WEIGHTS = 'tinker://a/sampler_weights/000100';

test.each([
  [WEIGHTS, { kind: 'path', path: WEIGHTS, baseModel: null }],
  [`Qwen/Qwen3-8B=${WEIGHTS}`, { kind: 'path', path: WEIGHTS, baseModel: 'Qwen/Qwen3-8B' }],
  ['mine@300', { kind: 'run', run: 'mine', step: 300 }],
  ['mine@best', { kind: 'run', run: 'mine', step: 'best' }],
  ['Qwen/Qwen3-8B', { kind: 'name', name: 'Qwen/Qwen3-8B' }],
])('reads %s', (text, name) => {
  expect(readModelName(text)).toEqual(name);
});

test.each([`/etc=${WEIGHTS}`, `../..=${WEIGHTS}`, `a/../../b=${WEIGHTS}`, '../mine@3', 'mine@newest'])(
  'refuses %s, which names no model, or a folder of this machine',
  (text) => {
    expect(() => readModelName(text)).toThrow(/names no model/);
  },
);
