import type { CheckResult } from './results';
import { compareClients, failed, isPassed, readCheck, renderMatrix, renderServers, skipped } from './results';

function passed(check: string, fingerprint: string | null = null): CheckResult {
  return { check, status: 'passed', seconds: 1, detail: null, fingerprint };
}

test('a client whose numbers differ from the first one fails that check', () => {
  const clients = compareClients([
    { client: 'a', checks: [passed('train', '1'), passed('list')] },
    { client: 'b', checks: [passed('train', '1'), passed('sample', '5')] },
    { client: 'c', checks: [passed('train', '2'), passed('sample', '5')] },
  ]);

  expect(clients.map(({ checks }) => checks.map(({ status }) => status))).toEqual([
    ['passed', 'passed'],
    ['passed', 'passed'],
    ['failed', 'passed'],
  ]);
  expect(clients[2]?.checks[0]?.detail).toBe('2, but 1 for a');
});

test('passes only when every client was checked and none failed', () => {
  const server = 's';
  const skipped: CheckResult = { ...passed('x'), status: 'skipped' };

  expect(isPassed({ server, clients: [{ client: 'a', checks: [passed('x'), skipped] }] })).toBe(true);
  expect(isPassed({ server, clients: [{ client: 'a', checks: [passed('x'), failed('y', 'no')] }] })).toBe(
    false,
  );
  expect(isPassed({ server, clients: [{ client: 'a', checks: [] }] })).toBe(false);
  expect(isPassed({ server, clients: [] })).toBe(false);
});

test('draws a row a check and a column a client, and says why one did not pass', () => {
  const text = renderMatrix({
    server: 'engine',
    clients: [
      { client: 'tinker 1', checks: [passed('train'), failed('sample', 'other tokens')] },
      { client: 'tinker 2', checks: [passed('train')] },
    ],
  });

  expect(text.split('\n')).toEqual([
    'engine  tinker 1  tinker 2',
    'train   passed    passed',
    'sample  failed',
    'passed  1/2       1/1',
    'failed: tinker 1, sample: other tokens',
  ]);
});

test('refuses a line that is no result', () => {
  expect(readCheck(JSON.stringify(passed('train')))).toEqual(passed('train'));
  expect(() => readCheck('{"check":"train"}')).toThrow();
});

test('what others can do with one another fails nobody', () => {
  const checks = [passed('create model'), failed('forward_backward', 'no')];

  expect(isPassed({ server: 's', clients: [{ client: 'a', checks, isObserved: true }] })).toBe(true);
  expect(isPassed({ server: 's', clients: [{ client: 'a', checks }] })).toBe(false);
});

test('draws a row a server and a column a client, and where one got to', () => {
  const text = renderServers([
    {
      server: 'ours',
      clients: [
        { client: 'sdk 1', checks: [passed('train'), skipped('sample', 'too old')] },
        { client: 'sdk 2', checks: [passed('train'), failed('sample', 'no')] },
        { client: 'book', checks: [skipped('environment', 'no network')] },
      ],
    },
    {
      server: 'theirs',
      clients: [
        { client: 'sdk 2', checks: [passed('train'), failed('sample', 'no')], isObserved: true },
        { client: 'us', checks: [passed('train')] },
      ],
    },
  ]);

  expect(text.split('\n')).toEqual([
    'server  sdk 1        sdk 2               book     us',
    'ours    works (1/1)  fails (1/2 passed)  skipped  –',
    'theirs  –            fails at sample     –        works (1/1)',
  ]);
});
