import Table from 'cli-table3';
import type { Verdict } from './chaos-run';

const NO_BORDERS = {
  ...{ top: '', 'top-mid': '', 'top-left': '', 'top-right': '' },
  ...{ bottom: '', 'bottom-mid': '', 'bottom-left': '', 'bottom-right': '' },
  ...{ left: '', 'left-mid': '', mid: '', 'mid-mid': '', right: '', 'right-mid': '', middle: '  ' },
};

/** One row a run; what went wrong in full below it. */
export function printTable(verdicts: readonly Verdict[]): void {
  const head = [
    'seed',
    'variant',
    'events',
    'seconds',
    'rewinds',
    'replayed',
    'applied',
    'orphans',
    'verdict',
  ];
  const table = new Table({ head, chars: NO_BORDERS, style: { head: [], border: [], 'padding-left': 0 } });
  for (const verdict of verdicts) table.push(cellsOf(verdict));
  console.log(table.toString());
  for (const { plan, problems, notes } of verdicts) {
    for (const problem of problems) console.log(`seed ${plan.seed}: ${problem}`);
    for (const note of notes) console.log(`seed ${plan.seed}: note: ${note}`);
  }
  const failed = verdicts.filter(({ problems }) => problems.length > 0).length;
  console.log(`${verdicts.length} runs, ${failed} differ from the undisturbed run.`);
}

function cellsOf(verdict: Verdict): string[] {
  const { plan, events, seconds, rewinds, stepsReplayed, applied, orphans, problems } = verdict;
  const number = (value: number | null): string => (value === null ? '-' : String(value));
  return [
    String(plan.seed),
    plan.variant,
    events.join('\n'),
    seconds.toFixed(0),
    ...[rewinds, stepsReplayed, applied, orphans].map(number),
    problems.length === 0 ? 'equal' : `${problems.length} PROBLEMS`,
  ];
}

/** The same in a line, as soon as it is known. */
export function describeLine(verdict: Verdict): string {
  const [seed = '', variant = '', , ...rest] = cellsOf(verdict);
  return [`seed ${seed}`, variant, ...rest, ...verdict.problems].join('  ');
}
