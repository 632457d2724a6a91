import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import fc from 'fast-check';
import type { StepSelection } from '../../../src/stores/step-rows';
import { readStepRows } from '../../../src/stores/step-rows';

let folder: string;
let file: string;
beforeAll(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'everstep-steps-'));
  file = path.join(folder, 'metrics.jsonl');
});
afterAll(() => {
  rmSync(folder, { recursive: true, force: true });
});

interface Row {
  readonly step: number;
  readonly text?: string;
}

function write(rows: readonly Row[], more = ''): void {
  writeFileSync(file, rows.map((row) => `${JSON.stringify(row)}\n`).join('') + more);
}

const stepsOf = async (selection: StepSelection) =>
  (await readStepRows<Row>(file, selection)).map(({ step }) => step);
const count = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, index) => from + index);

test('a missing file has no rows, and a torn last line is passed over', async () => {
  rmSync(file, { force: true });
  expect(await stepsOf({})).toEqual([]);

  write([{ step: 1 }, { step: 2 }], '{"step":3,"train');

  expect(await stepsOf({})).toEqual([1, 2]);
  expect(await stepsOf({ last: 5 })).toEqual([1, 2]);
});

test.each<[string, StepSelection, readonly number[]]>([
  ['a range', { from: 95, to: 97 }, [95, 96, 97]],
  ['from a step', { from: 98 }, [98, 99, 100]],
  ['the newest', { last: 2 }, [99, 100]],
  ['none of the newest', { last: 0 }, []],
  ['the newest before a step', { last: 2, to: 50 }, [49, 50]],
  ['every so many, with both ends', { every: 30 }, [1, 30, 60, 90, 100]],
  ['every so many of a range', { every: 10, from: 15, to: 35 }, [15, 20, 30, 35]],
  ['points', { points: 4 }, [1, 34, 67, 100]],
  ['one point', { points: 1 }, [100]],
  ['more points than rows', { points: 500, from: 99 }, [99, 100]],
  ['listed steps', { steps: [7, 3, 200] }, [3, 7]],
  ['no listed steps', { steps: [] }, []],
  ['beyond the end', { from: 101 }, []],
])('%s', async (_what, selection, expected) => {
  write(count(1, 100).map((step) => ({ step })));

  expect(await stepsOf(selection)).toEqual(expected);
});

test('finds the same rows in a long file as reading all of it does, whatever their lengths and gaps', async () => {
  const long = 'x'.repeat(20_000);
  await fc.assert(
    fc.asyncProperty(
      fc.uniqueArray(fc.nat(3000), { minLength: 1, maxLength: 200 }),
      fc.array(fc.nat(3), { minLength: 5, maxLength: 5 }),
      fc.nat(3100),
      fc.nat(400),
      async (unsorted, lengths, from, width) => {
        const steps = unsorted.sort((left, right) => left - right);
        write(steps.map((step, index) => ({ step, text: long.slice(0, (lengths[index % 5] ?? 0) * 6000) })));
        const to = from + width;

        const found = await stepsOf({ from, to });

        expect(found).toEqual(steps.filter((step) => step >= from && step <= to));
      },
    ),
    { numRuns: 40 },
  );
});

test('rows whose step does not stand first are found as well', async () => {
  writeFileSync(file, '{"at":"x","step":1}\n{"at":"x","step":2}\n');

  expect(await stepsOf({ from: 2 })).toEqual([2]);
});

test('a damaged row whose step no run reaches hides no row behind it', async () => {
  write([{ step: 1 }, { step: 2 }]);
  writeFileSync(file, '{"train/nll":1,"step":1e300}\n{"step":3}\n{"step":9.5}\n{"step":4}\n', { flag: 'a' });

  expect(await stepsOf({ from: 2, to: 4 })).toEqual([2, 3, 4]);
  expect(await stepsOf({})).toEqual([1, 2, 3, 4]);
});
