import { isCalledByKnownName, isFromOtherSite } from '../../../src/core/page-guard';

const NAMES = new Set(['engine.internal.example']);

test.each([
  'localhost',
  'LOCALHOST:8000',
  '127.0.0.1',
  '127.0.0.1:8000',
  '10.1.2.3:8000',
  '[::1]',
  '[fd00::1]:8000',
  'engine:8000',
  'engine.internal.example',
  'Engine.Internal.Example:8000',
])('a name that no page of elsewhere can have is known: %s', (host) => {
  expect(isCalledByKnownName({ host }, NAMES)).toBe(true);
});

test.each([
  'evil.example',
  '127.0.0.1.evil.example',
  'localhost.evil.example:80',
  '10.0.0.1.nip.io',
  'sub.engine.internal.example',
  '127.0.0.1@evil.example',
  'x@127.0.0.1',
  // What a page gets from these comes without its origin.
  '0.0.0.0:8000',
  '0.0.0.0',
  '[::]:8000',
  '[::ffff:7f00:1]:8000',
  '[::ffff:127.0.0.1]',
  'evil.example:80:80',
  '',
  undefined,
])('one that somebody else may own is not: %s', (host) => {
  expect(isCalledByKnownName({ host }, NAMES)).toBe(false);
});

test.each([
  ['http://127.0.0.1:8000', '127.0.0.1:8000', false],
  ['http://LOCALHOST:8000', 'Localhost:8000', false],
  [undefined, '127.0.0.1:8000', false],
  ['http://127.0.0.1:8001', '127.0.0.1:8000', true],
  ['http://localhost:8000', '127.0.0.1:8000', true],
  ['https://evil.example', '127.0.0.1:8000', true],
  ['null', '127.0.0.1:8000', true],
  ['', '127.0.0.1:8000', true],
  ['http://127.0.0.1:8000', undefined, true],
])('a page of %s that asks %s is of another site: %s', (origin, host, isOther) => {
  expect(isFromOtherSite({ origin, host })).toBe(isOther);
});

test.each([
  ['cross-site', 'no-cors', true],
  ['same-site', 'no-cors', true],
  ['cross-site', undefined, true],
  ['same-origin', 'cors', false],
  ['none', 'navigate', false],
  ['cross-site', 'navigate', false],
])('a request without an origin that is %s and in mode %s is of another site: %s', (site, mode, isOther) => {
  const headers = { host: '127.0.0.1:8000', 'sec-fetch-site': site, 'sec-fetch-mode': mode };

  expect(isFromOtherSite(headers)).toBe(isOther);
});
