import { capacityWaitMs, retryAfterMs } from '../../../../src/engines/openai/retry-after';

const NOW = Date.parse('2026-01-01T00:00:00Z');

test.each([
  [{ 'retry-after': '2' }, 2_000],
  [{ 'retry-after': '0.5' }, 500],
  [{ 'retry-after': 'Thu, 01 Jan 2026 00:00:07 GMT' }, 7_000],
  [{ 'retry-after': 'Wed, 31 Dec 2025 23:59:00 GMT' }, 0],
  [{ 'retry-after': '2', 'retry-after-ms': '1500' }, 1_500],
  [{ 'retry-after': '-3' }, null],
  [{ 'retry-after': 'soon' }, null],
  [{ 'retry-after': '' }, null],
  [{ 'retry-after': ['3', '9'] }, 3_000],
  [{ 'retry-after': '86400' }, 600_000],
  [{ 'x-ratelimit-reset-requests': '1s' }, null],
  [{}, null],
])('%j asks for %p', (headers, waitMs) => {
  expect(retryAfterMs(headers, NOW)).toBe(waitMs);
});

const ORDINARY = {
  ...{ 'content-type': 'application/json', 'content-length': '65', age: '86400' },
  ...{ date: 'Thu, 01 Jan 2026 00:00:00 GMT', 'x-request-id': '12' },
};

test.each([
  [{ 'x-ratelimit-reset-requests': '1s', 'x-ratelimit-reset-tokens': '6m0s' }, 1_000],
  [
    {
      'x-ratelimit-reset-requests': '1s',
      'x-ratelimit-reset-tokens': '1m30s',
      'x-ratelimit-remaining-tokens': '0',
    },
    90_000,
  ],
  [{ 'x-ratelimit-reset-requests': '20ms' }, 20],
  [{ 'x-ratelimit-reset': String(NOW + 4_000) }, 4_000],
  [{ 'x-ratelimit-reset': String(NOW / 1000 + 5) }, 5_000],
  [{ 'x-ratelimit-reset-tokens': '2026-01-01T00:00:03Z' }, 3_000],
  [{ 'x-ratelimit-reset-tokens': 'never' }, null],
  [{ 'retry-after': '2', 'x-ratelimit-reset-requests': '1s' }, 2_000],
  // What every answer has asks for nothing.
  [ORDINARY, null],
  [{ ...ORDINARY, 'x-ratelimit-remaining': '0' }, null],
  [{ ...ORDINARY, 'x-ratelimit-reset-tokens': '6m0s' }, 360_000],
  [{ ...ORDINARY, 'x-ratelimit-reset': '7', 'x-ratelimit-remaining': '0' }, 7_000],
])('a full server with %j is back in %p', (headers, waitMs) => {
  expect(capacityWaitMs(headers, NOW)).toBe(waitMs);
});
