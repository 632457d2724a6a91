import { Command } from 'commander';
import { checkTraining } from '../../client/check-training';
import type { StartedRun } from '../../client/start-run';
import { readEnvironment } from '../../config/environment';
import { loadTrainingConfig, parseTrainingConfig } from '../../config/load-config';
import type { SupervisedConfig } from '../../config/supervised-config';
import { DomainError } from '../../core/errors';
import { openForReading, openForWork } from '../connect';
import type { Session } from '../connect';
import { EXIT } from '../exit-codes';
import { catchInterrupts } from '../interrupts';
import { createOutput } from '../output';
import type { Output } from '../output';
import type { PlaceFlags } from '../service-options';
import { addPlaces } from '../service-options';
import { chooseEngine } from './train-engine';
import { followRun, printDetached } from './train-follow';

interface TrainFlags extends PlaceFlags {
  readonly run?: string;
  readonly set: readonly string[];
  readonly detach?: boolean;
  readonly forceNew?: boolean;
  readonly json?: boolean;
  readonly engine?: string;
}

export function createCommand(): Command {
  const command = new Command('train')
    .argument('[config]', 'YAML, JSON or TypeScript file; left out to go on with --run')
    .option(
      '--run <name>',
      'name of the run; one that is under way is attached to (kind, model and a number)',
    )
    .option('--set <key=value>', 'change a key of the config; may be repeated', collect, [])
    .option('--detach', 'start it and return; needs a running stack or server')
    .option('--force-new', 'start a new run although there is one of that name')
    .option(
      '--engine <url>',
      'training service, or "tinker" (engine.url, TINKER_BASE_URL, else the local one)',
    )
    .option('--json', 'one JSON document on standard output')
    .action(async (config: string | undefined, flags: TrainFlags) => {
      process.exitCode = await run(config, flags);
    });
  return addPlaces(command, { store: true });
}

async function run(file: string | undefined, flags: TrainFlags): Promise<number> {
  const output = createOutput({ json: flags.json === true, stdout: process.stdout, stderr: process.stderr });
  const interrupts = catchInterrupts();
  const environment = readEnvironment(flags);
  const config = await prepareConfig(file, flags);
  if (file !== undefined) await checkTraining(config, environment.cacheFolder);
  if (flags.run !== undefined && flags.forceNew !== true) await refuseEndedRun(flags, flags.run);
  const session = await openForWork({
    flags,
    output,
    detach: flags.detach === true,
    purpose: `train ${flags.run ?? file ?? ''}`.trim(),
  });
  try {
    if (interrupts.signal.aborted) return EXIT.interrupted;
    const started = await start(session, config, flags);
    announce(started, { session, config, output });
    if (flags.detach) return printDetached(started, output);
    const resume = `everstep train ${file ?? ''} --run ${started.handle.name}`.replace('  ', ' ');
    return await followRun(started.handle, { session, output, signal: interrupts.signal, resume });
  } finally {
    interrupts.dispose();
    await session.close();
  }
}

async function prepareConfig(file: string | undefined, flags: TrainFlags): Promise<SupervisedConfig> {
  if (file === undefined) return configOfRun(flags);
  const config = await loadTrainingConfig({ file, overrides: flags.set });
  const url = chooseEngine({ flag: flags.engine, config, environment: readEnvironment(flags) });
  return url === null
    ? config
    : parseTrainingConfig({ ...config, engine: { ...config.engine, url } }, '--engine');
}

/** Going on with a run needs no file: the run knows its config. */
async function configOfRun(flags: TrainFlags): Promise<SupervisedConfig> {
  if (flags.run === undefined || flags.forceNew) {
    throw new DomainError('bad-config', 'Give a config file, or --run NAME to go on with a run.');
  }
  const session = await openForReading(flags);
  try {
    const handle = session.everstep.run(flags.run);
    await handle.status();
    const record = await handle.config();
    return parseTrainingConfig(record?.['config'], `The config of run ${flags.run}`);
  } finally {
    await session.close();
  }
}

/** A stack would be started only to find that out. */
async function refuseEndedRun(flags: TrainFlags, run: string): Promise<void> {
  const session = await openForReading(flags);
  try {
    await session.everstep.refuseEnded(run);
  } finally {
    await session.close();
  }
}

async function start(session: Session, config: SupervisedConfig, flags: TrainFlags): Promise<StartedRun> {
  return session.everstep.start(config, {
    ...(flags.run !== undefined && { run: flags.run }),
    forceNew: flags.forceNew === true,
    command: ['everstep', ...process.argv.slice(2)],
  });
}

interface Announcement {
  readonly session: Session;
  readonly config: SupervisedConfig;
  readonly output: Output;
}

function announce({ handle, isAttached }: StartedRun, { session, config, output }: Announcement): void {
  if (isAttached) {
    output.note(
      `Run ${handle.name} is under way: attached to it. It goes on with the config it was started with.`,
    );
  } else {
    output.note(`Engine: ${config.engine.url ?? session.stack?.engineUrl ?? "the workers' own"}.`);
    output.note(
      `Run ${handle.name} started. Watch it from elsewhere with: everstep runs watch ${handle.name}`,
    );
  }
}

function collect(value: string, previous: readonly string[]): string[] {
  return [...previous, value];
}
