import { Command, Option } from 'commander';
import { DomainError } from '../../core/errors';
import { readEnvironment, variableNames } from '../../config/environment';
import { streamProgress } from '../../stack/progress';
import { runStack } from '../../stack/stack';
import type { Stack } from '../../stack/stack';
import { endService, exitWithin, leaveWhenAskedAgain, waitForStop } from '../../stack/service-lifetime';
import type { ServiceFlags } from '../service-options';
import { ADOPT, addPlaces, addServiceOptions, parseCount } from '../service-options';
import { stopCommand } from './dev-stop';

interface DevFlags extends ServiceFlags {
  readonly untilIdle?: boolean;
  readonly workers: number;
  readonly threads?: number;
  readonly ui?: boolean;
  readonly adopt?: boolean;
}

const STOP_LIMIT_MS = 40_000;

export function createCommand(): Command {
  const command = new Command('dev')
    .description('Run the Temporal server, the engine and workers in the foreground, until Ctrl-C')
    .option('--workers <n>', 'worker processes that train', parseCount, 1)
    .option('--threads <n>', "the engine's threads (one a core)", parseCount)
    .option('--ui', "with Temporal's web page, which any page open in a browser of this machine can reach")
    .option('--adopt', ADOPT)
    // As it is anyway.
    .addOption(new Option('--headless').hideHelp())
    .addOption(new Option('--until-idle').hideHelp())
    .action(async (flags: DevFlags) => {
      endService(await run(flags));
    });
  command.enablePositionalOptions().addCommand(stopCommand().exitOverride());
  return addServiceOptions(addPlaces(command, { store: true }));
}

async function run(flags: DevFlags): Promise<number> {
  const untilIdle = flags.untilIdle === true;
  const stop = waitForStop({ exitWithParent: flags.exitWithParent === true, outlives: untilIdle });
  const interrupted = new AbortController();
  void stop.then(({ exitCode }) => {
    process.stderr.write('Stopping… (Ctrl-C again leaves at once)\n');
    leaveWhenAskedAgain(exitCode);
    exitWithin(STOP_LIMIT_MS, exitCode);
    interrupted.abort(new DomainError('interrupted', 'Interrupted before the stack was ready.'));
  });
  const starting = runStack({
    signal: interrupted.signal,
    environment: readEnvironment(flags),
    untilIdle,
    withUi: flags.ui === true,
    adopt: flags.adopt === true,
    workerCount: flags.workers,
    engineThreads: flags.threads ?? null,
    progress: streamProgress(process.stderr),
  });
  const stack = await starting.catch((error: unknown) => {
    if (interrupted.signal.aborted) return null;
    throw error;
  });
  if (stack === null) return (await stop).exitCode;
  printAddresses(stack, readEnvironment(flags).dataFolder);
  const failed = stack.failed.then((error) => ({ error }));
  const end = await Promise.race([stop, stack.idle, failed]);
  if (end === undefined) return 0;
  await stack.stop();
  if ('error' in end) throw end.error;
  process.stderr.write('Stopped.\n');
  return end.exitCode;
}

function printAddresses({ record, binary }: Stack, dataFolder: string): void {
  const lines = [
    `Temporal  ${record.temporalAddress} (namespace ${record.namespace}, CLI: ${binary.source}, ${binary.version})`,
    ...(record.uiUrl === null ? [] : [`UI        ${record.uiUrl}`]),
    `Engine    ${record.engineUrl}`,
    `Data      ${dataFolder}`,
    `Store     ${record.store}`,
  ];
  const unused = variableNames('TEMPORAL_');
  if (unused.length > 0) lines.push(`Not used by this stack: ${unused.join(', ')}`);
  process.stdout.write(`${lines.join('\n')}\nReady. Ctrl-C stops it; runs go on at the next start.\n`);
}
