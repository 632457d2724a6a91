import { inPhase } from '../../../src/stack/phase';
import { spacedProgress, streamProgress } from '../../../src/stack/progress';

function createStream(isTTY: boolean) {
  const written: string[] = [];
  return { isTTY, columns: 20, write: (text: string) => written.push(text), written };
}

test('redraws one line on a terminal, cut so that it cannot wrap, with notes above it', () => {
  const stream = createStream(true);
  const progress = streamProgress(stream);

  progress.status('compiling a package with a long name');
  progress.note('a note');
  progress.status(null);

  const clear = '\r\u001b[2K';
  const line = 'compiling a packag…';
  expect(stream.written).toEqual([line, clear, 'a note\n', line, clear]);
});

test('says it in whole lines elsewhere', () => {
  const stream = createStream(false);

  streamProgress(stream).status('compiling a package with a long name');

  expect(stream.written).toEqual(['compiling a package with a long name\n']);
});

test('leaves time between lines, and begins what comes next at once', () => {
  const lines: string[] = [];
  const progress = spacedProgress((line) => lines.push(line), 1e9);

  for (const text of ['first', 'first (1 s)', 'first (2 s)', null, 'second', 'second (1 s)'])
    progress.status(text);

  expect(lines).toEqual(['first', 'second']);
});

test('a phase shows its name, how long it takes and what it is at, every second', async () => {
  jest.useFakeTimers();
  try {
    const shown: (string | null)[] = [];
    const progress = { note: () => undefined, status: (text: string | null) => void shown.push(text) };
    let current = '';
    let finish = (): void => undefined;

    const phase = inPhase({ name: 'Building', progress, describe: () => current }, () => {
      return new Promise<void>((resolve) => (finish = resolve));
    });
    current = 'parser';
    jest.advanceTimersByTime(2000);
    finish();
    await phase;

    expect(shown).toEqual(['Building…', 'Building (1 s): parser', 'Building (2 s): parser', null]);
  } finally {
    jest.useRealTimers();
  }
});
