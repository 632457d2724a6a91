import fc from 'fast-check';
import type { FeedCursor, FeedEvent } from '../../../../src/server/feed/feed-cursor';
import { readCursor, writeCursor } from '../../../../src/server/feed/feed-cursor';
import type { FeedSource } from '../../../../src/server/feed/feed-reader';
import { FeedReader } from '../../../../src/server/feed/feed-reader';
import { JournalMirror } from '../../../../src/server/feed/journal-mirror';

type Names = Readonly<Partial<Record<FeedEvent, readonly string[]>>>;

function sourceOf(lines: Names, owner = '0123abcd'): FeedSource {
  const mirror = (event: FeedEvent) => {
    const made = new JournalMirror('nowhere', 'none');
    made.lines.push(...(lines[event] ?? []));
    return made;
  };
  const mirrors = {
    control: mirror('control'),
    step: mirror('step'),
    checkpoint: mirror('checkpoint'),
    score: mirror('score'),
    event: mirror('event'),
  };
  return { owner, mirrors };
}

const stepLine = (step: number, loss = 1) => JSON.stringify({ step, loss });
const steps = (count: number, loss = 1) =>
  Array.from({ length: count }, (_, index) => stepLine(index + 1, loss));
const heard = (reader: FeedReader, isOver = false) =>
  [...reader.take(isOver)].map(({ event, data }) => `${event ?? ''} ${data}`);

test('a client that leaves after any event hears the rest exactly once from whoever it asks next', () => {
  fc.assert(
    fc.property(
      fc.nat(12),
      fc.nat(4),
      fc.nat(4),
      fc.nat(25),
      (stepCount, scoreCount, eventCount, leaveAfter) => {
        const lines = {
          step: steps(stepCount),
          score: Array.from({ length: scoreCount }, (_, index) => JSON.stringify({ score: index })),
          event: Array.from({ length: eventCount }, (_, index) => JSON.stringify({ event: index })),
        };
        const all = heard(new FeedReader(sourceOf(lines), 'start'));

        const first = [...new FeedReader(sourceOf(lines), 'start').take(false)].slice(0, leaveAfter);
        const lastId = first.at(-1)?.id;
        const from = lastId === undefined ? 'start' : readCursor(lastId);
        const second = heard(new FeedReader(sourceOf(lines), from));

        expect([...first.map(({ event, data }) => `${event ?? ''} ${data}`), ...second]).toEqual(all);
      },
    ),
  );
});

test('steps that were told and became void are taken back before others are told', () => {
  const source = sourceOf({ step: steps(3) });
  const reader = new FeedReader(source, 'start');
  heard(reader);

  source.mirrors.step.lines.length = 1;
  source.mirrors.step.cuts.push(1);
  source.mirrors.step.lines.push(stepLine(2, 0.5));

  expect(heard(reader)).toEqual(['rewind {"step":1}', `step ${stepLine(2, 0.5)}`]);
});

test('steps that became void before they were told are not taken back', () => {
  const source = sourceOf({ step: steps(1) });
  const reader = new FeedReader(source, 'start');
  heard(reader);
  source.mirrors.step.lines.push(stepLine(2, 0.5));
  source.mirrors.step.cuts.push(1);

  expect(heard(reader)).toEqual([`step ${stepLine(2, 0.5)}`]);
});

describe('a client that comes back', () => {
  const cursorAfter = (lines: Names, owner?: string): FeedCursor => {
    const reader = new FeedReader(sourceOf(lines, owner), 'start');
    heard(reader);
    return readCursor(reader.id);
  };

  test('after a rewind hears all steps again', () => {
    const cursor = cursorAfter({ step: steps(3), score: ['{"score":1}'] });

    const reader = new FeedReader(sourceOf({ step: steps(3, 0.5), score: ['{"score":1}'] }), cursor);

    expect(heard(reader)).toEqual(['rewind {"step":0}', ...steps(3, 0.5).map((line) => `step ${line}`)]);
  });

  test('waits for steps that are trained again', () => {
    const cursor = cursorAfter({ step: steps(3) });
    const source = sourceOf({ step: steps(1) });
    const reader = new FeedReader(source, cursor);
    expect(heard(reader)).toEqual([]);
    expect(readCursor(reader.id)).toEqual(cursor);

    source.mirrors.step.lines.push(...steps(4).slice(1));

    expect(heard(reader)).toEqual([`step ${stepLine(4)}`]);
  });

  test('hears where a run ended that never came so far again', () => {
    const cursor = cursorAfter({ step: steps(3) });

    const reader = new FeedReader(sourceOf({ step: steps(2) }), cursor);

    expect(heard(reader, true)).toEqual(['rewind {"step":0}', ...steps(2).map((line) => `step ${line}`)]);
  });

  test('to another run of the same name hears that it is another', () => {
    const cursor = cursorAfter({ step: steps(3), score: ['{"score":1}'] }, 'aaaaaaaa');

    const reader = new FeedReader(sourceOf({ step: steps(1), score: ['{"score":2}'] }), cursor);

    expect(heard(reader)).toEqual([
      'rewind {"step":0,"isAnotherRun":true}',
      `step ${stepLine(1)}`,
      'score {"score":2}',
    ]);
  });

  test('that wants only what is new hears nothing of before', () => {
    const source = sourceOf({ step: steps(3) });
    const reader = new FeedReader(source, 'now');
    source.mirrors.step.lines.push(stepLine(4));

    expect(heard(reader)).toEqual([`step ${stepLine(4)}`]);
  });
});

test.each(['', 'x', '0123abcd.1-2-3-4.00000000', '0123abcd.1-2-3-4-5.0000000g', '9'.repeat(500)])(
  'refuses "%s" as an id',
  (text) => {
    expect(() => readCursor(text)).toThrow('Last-Event-ID');
  },
);

test('an id is read as it was written', () => {
  const counts = { control: 1, step: 2, checkpoint: 3, score: 4, event: 5 };
  const cursor: FeedCursor = { owner: '0123abcd', counts, step: 'deadbeef', isEnd: true };

  expect(readCursor(writeCursor(cursor))).toEqual(cursor);
});
