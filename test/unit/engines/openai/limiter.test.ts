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
