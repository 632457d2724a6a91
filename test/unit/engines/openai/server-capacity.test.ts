import { Cancellation } from '../../../../src/engines/openai/cancellation';
import { Limiter } from '../../../../src/engines/openai/limiter';
import { ServerCapacity } from '../../../../src/engines/openai/server-capacity';

/** A server of which time alone passes, on jest's clock. */
interface Server {
  readonly takes: () => boolean;
  readonly done: () => void;
  readonly answerMs: number;
  readonly retryAfterMs: number | null;
}

const REFUSED_AFTER_MS = 5;
const CONCURRENCY = 64;

function atOnce(most: number, answerMs: number, retryAfterMs: number | null = null): Server {
  let inFlight = 0;
  return {
    takes: () => inFlight < most && ++inFlight > 0,
    done: () => {
      inFlight -= 1;
    },
    answerMs,
    retryAfterMs,
  };
}

/** A bucket of tokens that is filled evenly. */
function aSecond(rate: number, burst: number, answerMs: number, retryAfterMs: number | null = null): Server {
  let tokens = burst;
  let filledAt = performance.now();
  return {
    takes: () => {
      const now = performance.now();
      tokens = Math.min(burst, tokens + ((now - filledAt) / 1000) * rate);
      filledAt = now;
      if (tokens < 1) return false;
      tokens -= 1;
      return true;
    },
    done: () => undefined,
    answerMs,
    retryAfterMs,
  };
}

/** No more than so many in any second that has just passed. */
function inASecond(most: number, answerMs: number): Server {
  let takenAt: number[] = [];
  return {
    takes: () => {
      const now = performance.now();
      takenAt = takenAt.filter((at) => at > now - 1000);
      return takenAt.length < most && takenAt.push(now) > 0;
    },
    done: () => undefined,
    answerMs,
    retryAfterMs: null,
  };
}

const later = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/** Asks for ever, `concurrency` at once; returns answers and refusals of each minute. */
async function minutesOf(server: Server, { concurrency = CONCURRENCY, minutes = 4 } = {}) {
  const limiter = new Limiter();
  limiter.addCeiling(concurrency);
  const counts = Array.from({ length: minutes }, () => ({ answered: 0, refused: 0 }));
  const begun = performance.now();
  const minute = () => counts[Math.floor((performance.now() - begun) / 60_000)];
  const ask = async () => {
    for (let wasRefused = false; ;) {
      const sent = await limiter.acquire(new Cancellation(), wasRefused);
      wasRefused = !server.takes();
      await later(wasRefused ? REFUSED_AFTER_MS : server.answerMs);
      if (wasRefused) limiter.refused(sent, server.retryAfterMs);
      else {
        server.done();
        limiter.answered(sent);
      }
      const now = minute();
      if (now) now[wasRefused ? 'refused' : 'answered'] += 1;
      limiter.release();
    }
  };
  for (let index = 0; index < concurrency * 2; index++) void ask();
  await jest.advanceTimersByTimeAsync(minutes * 60_000);
  limiter.close();
  return counts;
}

beforeEach(() => jest.useFakeTimers());
afterEach(() => {
  jest.clearAllTimers();
  jest.useRealTimers();
});

test.each([
  ['8 at once, a second each', () => atOnce(8, 1000), 8],
  ['8 at once, who are told to wait a second', () => atOnce(8, 1000, 1000), 8],
  ['1 at once', () => atOnce(1, 500), 2],
  ['20 at once, quick', () => atOnce(20, 200), 100],
  ['3 at once, slow', () => atOnce(3, 6000), 0.5],
  ['10 a second', () => aSecond(10, 10, 100), 10],
  ['10 a second, who are told to wait a second', () => aSecond(10, 10, 100, 1000), 10],
  ['2 a second, of which each takes 3 s', () => aSecond(2, 10, 3000), 2],
  ['5 a second after a burst of 100', () => aSecond(5, 100, 300), 5],
  ['50 a second', () => aSecond(50, 50, 400, 1000), 50],
  ['10 in any second', () => inASecond(10, 200), 10],
  ['10 in any second, quick', () => inASecond(10, 100), 10],
  ['10 in any second, of which each takes one', () => inASecond(10, 1000), 10],
  ['50 in any second', () => inASecond(50, 400), 50],
])(
  'of a server that takes %s, 95 %% is used after a minute, fewer than ten are refused a minute, and of the first burst hardly one twice',
  async (_, server, most) => {
    const [first, ...settled] = await minutesOf(server());
    expect(first?.refused).toBeLessThan(CONCURRENCY + 10);
    for (const { answered, refused } of settled) {
      expect(refused).toBeLessThan(10);
      expect(answered).toBeGreaterThanOrEqual(most * 60 * 0.95);
    }
  },
);

test('a server that takes all is asked for all from the first', async () => {
  const [first] = await minutesOf(atOnce(1000, 1000), { minutes: 1 });

  expect(first).toEqual({ answered: 64 * 59, refused: 0 });
});

describe('ServerCapacity', () => {
  const refusedAt = (capacity: ServerCapacity, ordinals: readonly number[], at: number) => {
    ordinals.forEach((ordinal) => capacity.refused({ sent: { ordinal, at }, now: at + 5, holdMs: 0 }));
  };

  test('takes as many as were taken of a burst', () => {
    const capacity = new ServerCapacity(64, 0);
    refusedAt(capacity, [9, 10, 11, 64], 1);

    expect([capacity.limit, capacity.pace]).toEqual([8, Infinity]);
  });

  test('knows a limit of time by a refusal beside no more than were taken', () => {
    const capacity = new ServerCapacity(8, 0);
    for (let at = 1; at <= 1000; at += 100) capacity.answered({ ordinal: 4, at }, at + 50, 'limit');
    refusedAt(capacity, [4], 1000);

    expect(capacity.limit).toBe(8);
    expect(capacity.pace).toBeCloseTo(10, 0);
  });

  test('a ceiling that rises lifts a limit that nothing was refused at', () => {
    const capacity = new ServerCapacity(8, 0);
    capacity.setCeiling(64);
    expect(capacity.limit).toBe(64);

    refusedAt(capacity, [33], 1);
    capacity.setCeiling(128);
    expect(capacity.limit).toBe(32);
  });

  test('counts refusals without an answer in between, once for all of a burst', () => {
    const capacity = new ServerCapacity(8, 0);
    refusedAt(capacity, [5, 6, 7], 1);
    refusedAt(capacity, [4], 1000);
    expect(capacity.refusals).toBe(2);

    capacity.answered({ ordinal: 1, at: 2000 }, 2100, null);
    expect(capacity.refusals).toBe(0);
  });
});
