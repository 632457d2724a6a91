import type { Steps } from '../../../../src/core/concurrency/steps';
import { BodyTurns } from '../../../../src/core/concurrency/body-turns';

const LARGE = 1_000_000;

function bodies() {
  const turns = new BodyTurns();
  const events: string[] = [];
  const note = (event: string, what: string) => {
    events.push(event);
    setImmediate(() => setImmediate(() => events.push(`others, ${what}`)));
  };
  function* stepsOf(name: string, refused: boolean): Steps<string> {
    note(`check ${name}`, `${name} checked`);
    if (refused) throw new Error('too much');
    yield;
    note(`parse ${name}`, `${name} parsed`);
    yield;
    return name;
  }
  /** Says what is done with the body, and what others get to do: two rounds of the loop are one request on a new connection. */
  const read = async (name: string, { length = LARGE, refused = false } = {}) => {
    const value = await turns.read({ length, steps: () => stepsOf(name, refused) });
    note(`use ${value}`, `${name} used`);
  };
  const use = (name: string) =>
    turns.goOn({
      length: LARGE,
      *steps(): Steps<void> {
        note(`go on with ${name}`, `${name} gone on with`);
        yield;
        note(`end ${name}`, `${name} ended`);
      },
    });
  return { events, read, use };
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

test('the next body waits for all steps of what is done with the one before', async () => {
  const { events, read, use } = bodies();

  await Promise.all([read('a').then(() => use('a')), read('b')]);

  expect(events.slice(4, 11)).toEqual([
    ...['use a', 'go on with a', 'others, a used', 'others, a gone on with'],
    ...['end a', 'others, a ended', 'check b'],
  ]);
});
