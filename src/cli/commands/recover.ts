import { Command } from 'commander';
import type { RecoverableRun } from '../../client/continue-run';
import { openForWork } from '../connect';
import type { Session } from '../connect';
import { escapeControls } from '../escape-controls';
import { EXIT } from '../exit-codes';
import { catchInterrupts } from '../interrupts';
import { openOutput } from '../output';
import type { Output } from '../output';
import type { PlaceFlags } from '../service-options';
import { addPlaces } from '../service-options';

interface RecoverFlags extends PlaceFlags {
  readonly dryRun?: boolean;
  readonly serverGone?: boolean;
  readonly json?: boolean;
}

interface Recovered extends Omit<RecoverableRun, 'refusal'> {
  readonly isContinued: boolean;
  /** Why it could not be. */
  readonly error?: string;
}

export function createCommand(): Command {
  const command = new Command('recover')
    .description(
      'Go on with every run of the store that has not ended and that the Temporal server knows nothing of, from its last checkpoint',
    )
    .option('--dry-run', 'say which runs those are; start nothing')
    .option(
      '--server-gone',
      'also those that were paused or waited: the Temporal server that had them is gone for good',
    )
    .option('--json', 'one JSON document on standard output')
    .action(async (flags: RecoverFlags) => {
      process.exitCode = await run(flags);
    });
  return addPlaces(command, { store: true });
}

async function run(flags: RecoverFlags): Promise<number> {
  const output = openOutput(flags);
  const interrupts = catchInterrupts(output);
  const { signal } = interrupts;
  const session = await openForWork({ flags, output, signal, detach: true, purpose: 'recover' });
  try {
    const runs = await session.everstep.recoverable({ isServerGone: flags.serverGone === true });
    for (const each of await session.everstep.unreadableRuns()) output.note(escapeControls(each));
    const recovered: Recovered[] = [];
    for (const each of runs) recovered.push(await recover(each, session, flags));
    if (flags.json)
      output.document(
        recovered.map((each) =>
          each.error === undefined ? each : { ...each, error: output.advice(each.error) },
        ),
      );
    else print(recovered, { output, isDry: flags.dryRun === true });
    return recovered.some(({ error }) => error !== undefined) ? EXIT.failed : EXIT.done;
  } finally {
    await session.close();
    interrupts.dispose();
  }
}

async function recover(
  { refusal, ...found }: RecoverableRun,
  { everstep }: Session,
  { dryRun = false, serverGone: isServerGone = false }: RecoverFlags,
): Promise<Recovered> {
  if (refusal !== undefined) return { ...found, isContinued: false, error: refusal };
  if (dryRun || found.workflow !== 'lost') return { ...found, isContinued: false };
  try {
    await everstep.continue(found.run, { isServerGone, command: ['everstep', ...process.argv.slice(2)] });
    return { ...found, isContinued: true };
  } catch (error) {
    return { ...found, isContinued: false, error: error instanceof Error ? error.message : String(error) };
  }
}

function print(
  runs: readonly Recovered[],
  { output, isDry }: { readonly output: Output; readonly isDry: boolean },
): void {
  if (runs.length === 0) output.note('The store has no run that has not ended.');
  for (const found of runs) {
    output.line(
      `${found.run}  step ${found.step} of ${found.totalSteps}  ${whatBecomes(found, output, isDry)}`,
    );
  }
  if (isDry && runs.some(({ workflow }) => workflow === 'lost'))
    output.note('Nothing was started. Leave out --dry-run to go on with them.');
}

function whatBecomes(
  { run, workflow, checkpointStep, error }: Recovered,
  output: Output,
  isDry: boolean,
): string {
  if (error !== undefined) return `could not be gone on with: ${error}`;
  if (workflow === 'open') return 'is under way on this server; left alone';
  if (workflow === 'ended')
    return `its workflow was ended on this server; left alone. Go on with: ${output.hint(`train --run ${run} --continue`)}`;
  const start =
    checkpointStep === null ? 'its beginning' : `its checkpoint of step ${String(checkpointStep)}`;
  return `${isDry ? 'would go on' : 'goes on'} from ${start}`;
}
