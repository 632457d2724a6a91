import type { StoredTrajectory } from '../../../src/stores/eval-store';
import { printTrajectory } from '../../../src/stores/eval-trajectory-text';

const TRAJECTORY: StoredTrajectory = {
  idx: 0,
  benchmark: 'gsm8k',
  example_id: 'gsm8k_1',
  sample_index: 2,
  turns: [
    { role: 'user', content: 'one\ntwo\u001b[2J', token_count: 3, metadata: {} },
    { role: 'assistant', content: '🙂'.repeat(600), token_count: 9, metadata: {} },
  ],
  reward: 0,
  metrics: {},
  logs: { target: '4' },
  error: 'timeout\u0007',
  time_seconds: 1.25,
};

function printed(options: { maxCharacters?: number } = {}): string[] {
  const lines: string[] = [];
  printTrajectory(TRAJECTORY, { ...options, write: (line) => lines.push(line) });
  return lines;
}

test('prints the first 500 characters of each turn and counts the rest', () => {
  expect(printed()).toEqual([
    'gsm8k gsm8k_1 sample 2: reward 0, 1.3 s',
    '  [user, 3 tokens]',
    '    one',
    String.raw`    two\x1b[2J`,
    '  [assistant, 9 tokens]',
    `    ${'🙂'.repeat(500)}`,
    '    … 100 more characters',
    String.raw`    error: timeout\x07`,
    '    logs: {"target":"4"}',
  ]);
});

test('prints the calls of a turn, also behind words that are cut', () => {
  const lines: string[] = [];
  const calls = [{ id: 'c1', name: 'add', arguments: '{"a":1}\u001b[2J' }, null, 'none'];
  const turn = {
    role: 'assistant',
    content: 'long',
    token_count: 4,
    metadata: { tool_calls: calls },
  } as const;

  printTrajectory(
    { ...TRAJECTORY, turns: [turn, { ...turn, metadata: { tool_calls: 'none' } }] },
    { maxCharacters: 20, write: (line) => lines.push(line) },
  );
  const short: string[] = [];
  printTrajectory({ ...TRAJECTORY, turns: [turn] }, { maxCharacters: 2, write: (line) => short.push(line) });

  expect(lines.slice(1, 6)).toEqual([
    '  [assistant, 4 tokens]',
    '    long',
    '    [calls add({"a":1}\\x1b[',
    '    … 4 more characters',
    '  [assistant, 4 tokens]',
  ]);
  expect(short).toContain('    [c');
});

test('counts the calls of a turn that makes very many', () => {
  const lines: string[] = [];
  const calls = Array.from({ length: 150_000 }, (_, index) => ({ name: `f${index}`, arguments: '' }));
  const turn = { role: 'assistant', content: '', token_count: 4, metadata: { tool_calls: calls } } as const;

  printTrajectory({ ...TRAJECTORY, turns: [turn] }, { write: (line) => lines.push(line) });

  expect(lines).toContain('    [calls f49()]');
  expect(lines).toContain('    … 149950 more calls');
  expect(lines.length).toBeLessThan(60);
});

test('prints as much as asked', () => {
  expect(printed({ maxCharacters: 1000 })).toContain(`    ${'🙂'.repeat(600)}`);
  expect(printed({ maxCharacters: 2 })).toContain('    on');
});

test('prints to standard output unless told', () => {
  const write = jest.spyOn(process.stdout, 'write').mockReturnValue(true);

  printTrajectory({ ...TRAJECTORY, turns: [] });

  expect(write).toHaveBeenCalledWith('gsm8k gsm8k_1 sample 2: reward 0, 1.3 s\n');
  write.mockRestore();
});
