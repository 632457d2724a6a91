import { printMetrics } from '../../../src/cli/metric-table';
import { recordOutput } from './recording-output';

const rows = [1, 2, 3].map((step) => ({
  step,
  ...{ 'optim/lr': 0.001, 'train/sequences': 8 },
  ...Object.fromEntries(Array.from({ length: 12 }, (_, index) => [`area/metric_${index}`, step * index + 1])),
  'env/all/reward/total': step / 4,
}));

function linesOf(options: { terminal?: boolean }, asked: readonly string[] | null = null): string[] {
  const { output, stdout } = recordOutput(options);
  printMetrics(rows, asked, output);
  return stdout().split('\n');
}

test('a terminal shows the columns it has room for, first those that people look at', () => {
  const lines = linesOf({ terminal: true });

  expect(lines[0]).toMatch(/^step {2}env\/all\/reward\/total {2}area\/metric_1 /);
  expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(100);
  expect(lines[3]).toMatch(/^3 {5}0\.75 /);
});

test('a terminal says once what never changes, and what the columns without room are called', () => {
  const text = linesOf({ terminal: true }).join('\n');

  expect(text).toContain('The same in every row: optim/lr 0.001, train/sequences 8, area/metric_0 1');
  expect(text).toMatch(/7 more columns: area\/metric_5, .*\n?area\/metric_10, area\/metric_11/);
  expect(text).toContain('--columns');
  for (let index = 0; index < 12; index++) expect(text).toContain(`area/metric_${index}`);
});

test('without a terminal, and of columns that were asked for, everything is shown', () => {
  expect(linesOf({})[0]?.split(/ +/)).toHaveLength(16);

  const [heading, first, ...others] = linesOf({ terminal: true }, ['optim/lr', 'area/metric_3']);
  expect(heading).toBe('step  optim/lr  area/metric_3');
  expect(first).toBe('1     0.001     4');
  expect(others.join('\n')).not.toMatch(/more columns|same in every row/);
});

test('says that there is no step yet', () => {
  const { output, stdout } = recordOutput({ terminal: true });

  printMetrics([], null, output);

  expect(stdout()).toBe('No steps yet.\n');
});
