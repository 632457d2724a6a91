import { finish } from '../../../src/core/concurrency/steps';
import { parseRequestJson } from '../../../src/core/request-json';

test.each([
  ['{"a":[1,"\\u00e9",{"b":null}]}', { a: [1, 'é', { b: null }] }],
  ['\ufeff{"a":1}', { a: 1 }],
  [
    '{"constructor":{"type":"string"},"a":"\\"__proto__\\":"}',
    { constructor: { type: 'string' }, a: '"__proto__":' },
  ],
  ['null', null],
])('%s is read', (text, value) => {
  expect(finish(parseRequestJson(text))).toEqual(value);
});

test.each([
  '',
  '{',
  '{} {}',
  '{"__proto__":{"a":1}}',
  '{"a":[[{"__proto__" : null}]]}',
  '{"\\u005f_pr\\u006fto__":1}',
  '{"a":{"constructor":{"prototype":{}}}}',
  '{"\\u0063onstructor":{"prototype":1}}',
])('%s is not', (text) => {
  expect(finish(parseRequestJson(text))).toBeUndefined();
});
