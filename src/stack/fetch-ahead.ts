import { readEnvironment } from '../config/environment';
import { readTemporalAddress } from '../config/temporal-connection';
import type { Progress } from './progress';
import { waitForStop } from './service-lifetime';
import { binaryLookup, obtainTemporalBinary } from './temporal-binary';

/**
 * The program that fetches the Temporal CLI while dist/ is still being built: the launcher of a checkout runs it from
 * the sources, and the command that is started then finds the CLI, or waits for this process as for any other. Why it
 * failed is said by the command, which tries again. It says what it does in JSON lines, and ends with its stdin.
 */

/** Commands that have a server of their own, whatever server is configured. */
const WITH_OWN_SERVER = ['demo', 'dev', 'temporal'];

async function fetchAhead(command: string): Promise<number> {
  if (!WITH_OWN_SERVER.includes(command) && readTemporalAddress() !== null) return 0;
  const stop = waitForStop({ exitWithParent: true });
  const lookup = binaryLookup(readEnvironment(), tellParent);
  const end = await Promise.race([obtainTemporalBinary(lookup), stop]);
  // Leaving takes along what was begun.
  return 'exitCode' in end ? end.exitCode : 0;
}

const tellParent: Progress = {
  note: (note) => {
    tell({ note });
  },
  status: (status) => {
    tell({ status });
  },
};

function tell(line: Readonly<Record<string, string | null>>): void {
  process.stdout.write(`${JSON.stringify(line)}\n`);
}

process.stdout.on('error', () => process.exit(1));
fetchAhead(process.argv[2] ?? '').then(
  (exitCode) => process.exit(exitCode),
  () => process.exit(1),
);
