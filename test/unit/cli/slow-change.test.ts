import type { RunHandle } from '../../../src/client/run-handle';
import { withReassurance } from '../../../src/cli/slow-change';
import { recordOutput } from './recording-output';

beforeEach(() => {
  jest.useFakeTimers();
});
afterEach(() => {
  jest.useRealTimers();
});

const handleOf = (report: object | null) =>
  ({
    name: 'mine',
    status: () => (report === null ? Promise.reject(new Error('away')) : Promise.resolve(report)),
  }) as unknown as RunHandle;

async function told(report: object | null, afterMs: number): Promise<string> {
  const { output, stderr } = recordOutput();
  let answerWith: (receipt: number) => void = () => undefined;
  const answer = new Promise<number>((resolve) => {
    answerWith = resolve;
  });
  const waited = withReassurance(answer, handleOf(report), output);
  await jest.advanceTimersByTimeAsync(afterMs);
  answerWith(7);
  expect(await waited).toBe(7);
  await jest.advanceTimersByTimeAsync(120_000);
  return stderr();
}

const LIVE = { source: 'workflow', waitingFor: null };

test('a change that is answered soon is waited for without a word', async () => {
  expect(await told(LIVE, 4999)).toBe('');
});

test('one that a full store keeps says what the run waits for, that it is taken, and how to look, again and again', async () => {
  const full = { ...LIVE, waitingFor: { what: 'room in the store (ENOSPC)', since: '' } };
  const said = await told(full, 36_000);

  expect(said.trim().split('\n')).toHaveLength(2);
  expect(said).toMatch(
    /^Run mine has not answered yet: it waits for room in the store \(ENOSPC\)\. The change is taken, and comes into effect at the latest when that is over\. How it stands: .*runs show mine\n/,
  );
});

test.each([
  [{ ...LIVE, waits: ['rollouts wait: judge'] }, 'it waits for rollouts wait: judge. The change is taken'],
  [LIVE, 'the change is taken, and is answered when what is under way lets it in'],
  [
    { source: 'server', waitingFor: { what: 'a worker', since: '' } },
    'it waits for a worker, and the change',
  ],
  [null, 'nothing can be heard of it'],
])('what is said of %j', async (report, words) => {
  expect(await told(report, 6000)).toContain(words);
});
