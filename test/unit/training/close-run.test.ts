import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createRunStore } from '../../../src/stores/run-store';
import type { CloseDependencies, CloseRunInput } from '../../../src/training/close-run';
import { closeRun } from '../../../src/training/close-run';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'everstep-close-run-'));
});
afterEach(() => {
  rmSync(folder, { recursive: true });
});

/** Closes a run whose folder is not there. */
async function close(status: CloseRunInput['status'], isLastChance: boolean) {
  const warnings: string[] = [];
  const dependencies = {
    ...{ store: createRunStore(folder), isLastChance, epoch: 1, now: () => new Date(0) },
    runs: { forget: () => Promise.resolve() },
    warn: (message: string, error: Error) => warnings.push(`${message}: ${error.message}`),
  } as unknown as CloseDependencies;
  const input = { plan: { run: 'gone' }, model: null, status, step: 3, rewinds: 0, stepsReplayed: 0 };
  const digest = await closeRun(dependencies, input as CloseRunInput);
  return { digest, warnings };
}

test.each(['cancelled', 'failed'] as const)(
  'a run that is %s ends without a record where its folder stays away',
  async (status) => {
    const { digest, warnings } = await close(status, true);

    expect(digest).toBeNull();
    expect(warnings).toEqual([expect.stringMatching(/closed without a record: .*gone is not there$/)]);
    expect(readdirSync(folder)).toEqual([]);
  },
);

test.each([
  ['cancelled', false],
  ['completed', true],
] as const)(
  'a worker that sees the folder is waited for: %s, last chance %s',
  async (status, isLastChance) => {
    await expect(close(status, isLastChance)).rejects.toMatchObject({
      ...{ code: 'unreachable', retryable: true },
      message: expect.stringMatching(
        /has no run "gone".*put it back, or end the run with `everstep runs cancel gone`/,
      ) as string,
    });
  },
);
