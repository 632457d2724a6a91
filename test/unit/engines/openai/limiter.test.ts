import { AdaptiveWindow } from '../../../../src/engines/openai/adaptive-window';
import { Cancellation } from '../../../../src/engines/openai/cancellation';
import { Limiter } from '../../../../src/engines/openai/limiter';
import { Outage } from '../../../../src/engines/openai/outage';

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

function limiterOf(ceiling: number): {
  limiter: Limiter;
  readonly ask: (name: string, again?: boolean) => Cancellation;
  served: string[];
} {
  const limiter = new Limiter();
  limiter.addCeiling(ceiling);
  const served: string[] = [];
  return {
    limiter,
    served,
    ask(name, again = false) {
      const cancellation = new Cancellation();
      limiter.acquire(cancellation, again).then(
        () => served.push(name),
        (reason: unknown) => served.push(`${name}: ${String(reason)}`),
      );
      return cancellation;
    },
  };
}

describe('Limiter', () => {
  test('serves in order of arrival, who was refused first', async () => {
    const { limiter, ask, served } = limiterOf(1);
    for (const name of ['a', 'b', 'c']) ask(name);
    ask('refused', true);
    for (let count = 0; count < 3; count += 1) limiter.release();
    await turn();

    expect(served).toEqual(['a', 'refused', 'b', 'c']);
  });

  test('who gives up in the queue takes no turn', async () => {
    const { limiter, ask, served } = limiterOf(1);
    ask('a');
    ask('b').cancel('enough');
    ask('c');
    limiter.release();
    await turn();

    expect(served.sort()).toEqual(['a', 'b: enough', 'c']);
    expect(limiter.state).toMatchObject({ inFlight: 1, waiting: 0 });
  });

  test('the largest of what its users ask for counts, as long as they are there', () => {
    const limiter = new Limiter();
    limiter.addCeiling(8);
    limiter.addCeiling(64);
    expect(limiter.state.limit).toBe(64);

    limiter.removeCeiling(64);
    expect(limiter.state.limit).toBe(8);
  });

  test('a part of all that is allowed bounds it, and the rest is served when the part grows', async () => {
    const { limiter, ask, served } = limiterOf(4);
    limiter.setAllowance(1);
    for (const name of ['a', 'b', 'c']) ask(name);
    await turn();
    expect(served).toEqual(['a']);

    limiter.setAllowance(2);
    await turn();
    expect(served).toEqual(['a', 'b']);
  });

  test('nobody is served while it holds, and everybody after', async () => {
    const { limiter, ask, served } = limiterOf(4);
    limiter.hold(60);
    ask('a');
    await turn();
    expect(served).toEqual([]);

    await new Promise((resolve) => setTimeout(resolve, 120));
    expect(served).toEqual(['a']);
  });
});

describe('AdaptiveWindow', () => {
  test('halves once for all that were on their way, and again for who was sent after', () => {
    const window = new AdaptiveWindow(64);
    for (let index = 0; index < 10; index += 1) window.refused(index, { now: 100, inUse: 64 });
    expect(window.limit).toBe(32);

    window.refused(101, { now: 200, inUse: 32 });
    expect([window.limit, window.cutsInARow]).toEqual([16, 2]);
  });

  test('halves what was in use, and never below one', () => {
    const window = new AdaptiveWindow(64);
    window.refused(0, { now: 1, inUse: 6 });
    expect(window.limit).toBe(3);

    for (let at = 2; at < 20; at += 2) window.refused(at, { now: at + 1, inUse: window.limit });
    expect(window.limit).toBe(1);
  });

  test('grows by a step for each window of answers, up to the ceiling and only where it is full', () => {
    const window = new AdaptiveWindow(20);
    window.refused(0, { now: 1, inUse: 20 });
    for (let index = 0; index < 12; index += 1) window.answered(2, true);
    expect(window.limit).toBe(11);
    for (let index = 0; index < 1_000; index += 1) window.answered(2, false);
    expect(window.limit).toBe(11);
    for (let index = 0; index < 1_000; index += 1) window.answered(2, true);
    expect(window.limit).toBe(20);
  });

  test('answers to what was sent before a cut do not undo it', () => {
    const window = new AdaptiveWindow(20);
    window.refused(0, { now: 10, inUse: 20 });
    for (let index = 0; index < 100; index += 1) window.answered(5, true);

    expect([window.limit, window.cutsInARow]).toEqual([10, 1]);
  });

  test('a ceiling that rises lifts a window that was never cut', () => {
    const window = new AdaptiveWindow(8);
    window.setCeiling(64);
    expect(window.limit).toBe(64);

    window.refused(0, { now: 1, inUse: 64 });
    window.setCeiling(128);
    expect(window.limit).toBe(32);
  });
});

describe('Outage', () => {
  test('is over patience only after failures alone for so long', () => {
    let now = 0;
    const outage = new Outage(() => now);
    const failAt = (at: number): boolean => {
      now = at;
      return outage.isExhausted(30);
    };

    expect([failAt(0), failAt(20), failAt(29), failAt(31)]).toEqual([false, false, false, true]);
    outage.ended();
    expect(failAt(40)).toBe(false);
    // Long after the last failure a new one begins a new outage.
    expect(failAt(500)).toBe(false);
  });

  test('knows whether anybody was answered since a failure', () => {
    let now = 5;
    const outage = new Outage(() => now);

    expect(outage.hasAnsweredSince(0)).toBe(false);
    outage.answered();
    now = 9;
    expect([outage.hasAnsweredSince(4), outage.hasAnsweredSince(6)]).toEqual([true, false]);
  });
});
