import { BodyTurns } from '../../../../src/core/concurrency/body-turns';

const LARGE = 1_000_000;

function bodies() {
  const turns = new BodyTurns();
  const events: string[] = [];
  /** Says what is done with the body, and what others get to do: two rounds of the loop are one request on a new connection. */
  const read = async (name: string, { length = LARGE, refused = false } = {}) => {
    const value = await turns.read({
      length,
      check: () => {
        events.push(`check ${name}`);
        setImmediate(() => setImmediate(() => events.push(`others, ${name} checked`)));
        if (refused) throw new Error('too much');
      },
      parse: () => {
        events.push(`parse ${name}`);
        setImmediate(() => setImmediate(() => events.push(`others, ${name} parsed`)));
        return name;
      },
    });
    events.push(`use ${value}`);
    setImmediate(() => setImmediate(() => events.push(`others, ${name} used`)));
  };
  return { events, read };
}

test('others are answered after each step of a large body, and the next body waits until it was used', async () => {
  const { events, read } = bodies();

  await Promise.all([read('a'), read('b')]);

  expect(events.slice(0, 8)).toEqual([
    ...['check a', 'others, a checked', 'parse a', 'others, a parsed', 'use a', 'others, a used'],
    ...['check b', 'others, b checked'],
  ]);
});

test('one that is refused holds back none after it', async () => {
  const { events, read } = bodies();

  const [refused, next] = await Promise.allSettled([read('a', { refused: true }), read('b')]);

  expect([refused.status, next.status]).toEqual(['rejected', 'fulfilled']);
  expect(events).toEqual([
    ...[
      'check a',
      'others, a checked',
      'check b',
      'others, b checked',
      'parse b',
      'others, b parsed',
      'use b',
    ],
  ]);
});

test('a small body waits for no large one', async () => {
  const { events, read } = bodies();

  await Promise.all([read('large'), read('small', { length: 100 })]);

  expect(events.indexOf('use small')).toBeLessThan(events.indexOf('parse large'));
});
