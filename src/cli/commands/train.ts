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
import { openOutput } from '../output';
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
  const output = openOutput(flags);
  const interrupts = catchInterrupts();
  const config = await checkConfig(file, flags);
  if (flags.run !== undefined && flags.forceNew !== true) await refuseEndedRun(flags, flags.run);
  const purpose = `train ${flags.run ?? file ?? ''}`.trim();
  const session = await openForWork({ flags, output, detach: flags.detach === true, purpose });
  try {
    if (interrupts.signal.aborted) return EXIT.interrupted;
    const started = await start(session, config, flags);
    announce(started, { session, config, output });
    if (flags.detach) return printDetached(started, output);
    const resume = `everstep train --run ${started.handle.name}`;
    return await followRun(started.handle, { session, output, signal: interrupts.signal, resume });
  } finally {
    interrupts.dispose();
    await session.close();
  }
}

/** Refuses everything that can be seen to be wrong before anything is started. Null: go on with `--run`. */
async function checkConfig(file: string | undefined, flags: TrainFlags): Promise<SupervisedConfig | null> {
  if (file === undefined) {
    if (flags.run !== undefined && !flags.forceNew) return null;
    throw new DomainError('bad-config', 'Give a config file, or --run NAME to go on with a run.');
  }
  const environment = readEnvironment(flags);
  const written = await loadTrainingConfig({ file, overrides: flags.set });
  const url = chooseEngine({ flag: flags.engine, config: written, environment });
  const config = url === null ? written : withEngine(written, url);
  await checkTraining(config, environment.cacheFolder);
  return config;
}

function withEngine(config: SupervisedConfig, url: string): SupervisedConfig {
  return parseTrainingConfig({ ...config, engine: { ...config.engine, url } }, 'The engine chosen');
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

async function start(
  { everstep }: Session,
  config: SupervisedConfig | null,
  flags: TrainFlags,
): Promise<StartedRun> {
  const { run, forceNew = false } = flags;
  if (config !== null) {
    const command = ['everstep', ...process.argv.slice(2)];
    return everstep.start(config, { ...(run !== undefined && { run }), forceNew, command });
  }
  return everstep.resume(run ?? '');
}

interface Announcement {
  readonly session: Session;
  readonly config: SupervisedConfig | null;
  readonly output: Output;
}

function announce({ handle, isAttached }: StartedRun, { session, config, output }: Announcement): void {
  if (isAttached) {
    output.note(
      `Run ${handle.name} is under way: attached to it. It goes on with the config it was started with.`,
    );
    return;
  }
  output.note(`Engine: ${config?.engine.url ?? session.stack?.engineUrl ?? "the workers' own"}.`);
  output.note(`Run ${handle.name} started. Watch it from elsewhere with: everstep runs watch ${handle.name}`);
}

function collect(value: string, previous: readonly string[]): string[] {
  return [...previous, value];
}
