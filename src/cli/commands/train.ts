import { Command } from 'commander';
import type { StartedRun } from '../../client/start-run';
import type { TrainingConfig } from '../../config/training-config';
import { DomainError } from '../../core/errors';
import { shellWord } from '../../core/shell-word';
import { openForWork } from '../connect';
import type { Session } from '../connect';
import { escapeControls } from '../escape-controls';
import { EXIT } from '../exit-codes';
import { catchInterrupts } from '../interrupts';
import { openOutput } from '../output';
import type { Output } from '../output';
import { repeated } from '../repeated-option';
import type { PlaceFlags } from '../service-options';
import { addPlaces } from '../service-options';
import { followRun, leaveDetached } from './train-follow';
import { checkRequest } from './train-preflight';

interface TrainFlags extends PlaceFlags {
  readonly run?: string;
  readonly set?: readonly string[];
  readonly detach?: boolean;
  readonly forceNew?: boolean;
  readonly attach?: boolean;
  readonly continue?: boolean;
  readonly serverGone?: boolean;
  readonly json?: boolean;
  readonly engine?: string;
}

export function createCommand(): Command {
  const command = new Command('train')
    .description('Start a training run, or go on with one, and follow it until it ends')
    .argument('[config]', 'YAML, JSON or TypeScript file; left out to go on with --run')
    .option(
      '--run <name>',
      'name of the run; one that is under way is attached to (kind, model and a number)',
    )
    .option('--set <key=value>', 'change a key of the config; may be repeated', repeated)
    .option('--detach', 'start it and return once it is prepared; needs a running stack or server')
    .option(
      '--attach',
      'follow a run of that name that is under way although its config or its training files are others by now',
    )
    .option(
      '--continue',
      'go on with a run whose workflow was ended or lost, from its last checkpoint, as it was begun; needs --run, and no config or --set',
    )
    .option(
      '--server-gone',
      'with --continue: the Temporal server that had the run is gone for good, also where the run was paused or waited',
    )
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
  requireContinuable(file, flags);
  const interrupts = catchInterrupts(output);
  const isInterrupted = () => interrupts.signal.aborted;
  const { config, isUnderWay } = await checkRequest({ ...flags, file }, output);
  if (isInterrupted()) return EXIT.interrupted;
  const purpose = `train ${flags.run ?? file ?? ''}`.trim();
  const session = await openForWork({
    flags,
    output,
    signal: interrupts.signal,
    detach: flags.detach === true,
    purpose,
  });
  try {
    if (isInterrupted()) return EXIT.interrupted;
    if (config !== null && !isUnderWay) announceOwnEngine(config, session, output);
    const started = await start(session, config, flags);
    announce(started, output, flags);
    const options = { session, output, signal: interrupts.signal };
    return await (flags.detach ? leaveDetached(started, options) : followRun(started.handle, options));
  } finally {
    await session.close();
    interrupts.dispose();
  }
}

async function start(
  { everstep }: Session,
  config: TrainingConfig | null,
  flags: TrainFlags,
): Promise<StartedRun> {
  const { run, forceNew = false, attach = false } = flags;
  if (config !== null) {
    const command = ['everstep', ...process.argv.slice(2)];
    return everstep.start(config, { ...(run !== undefined && { run }), forceNew, attach, command });
  }
  if (!flags.continue) return everstep.resume(run ?? '');
  return everstep.continue(run ?? '', { isServerGone: flags.serverGone === true });
}

function requireContinuable(file: string | undefined, flags: TrainFlags): void {
  if (!flags.continue) {
    if (flags.serverGone)
      throw new DomainError('bad-config', '--server-gone is for --continue. Give both, or leave it out.');
    requireUnchanged(file, flags);
    return;
  }
  const given = [
    ...(flags.forceNew ? ['--force-new'] : []),
    ...(file === undefined ? [] : [`the config ${file}`]),
    ...changesIn(flags),
  ];
  if (given.length === 0 && flags.run !== undefined) return;
  const others = given.length === 0 ? '' : `, and leave out ${given.join(' and ')}`;
  throw new DomainError(
    'bad-config',
    `--continue goes on with a run as it was begun: give --run NAME${others}.${remedyFor(flags)}`,
  );
}

/** What changes a config changes nothing of a run that is named alone. */
function requireUnchanged(file: string | undefined, flags: TrainFlags): void {
  const [change] = changesIn(flags);
  if (file !== undefined || flags.run === undefined || change === undefined) return;
  throw new DomainError(
    'bad-config',
    `${change} is for a config, and --run ${flags.run} alone goes on with that run as it was begun. Leave it out.${remedyFor(flags)}`,
  );
}

function changesIn({ set = [], engine }: TrainFlags): string[] {
  return [
    ...set.slice(0, 1).map((change) => `--set ${change}`),
    ...(engine === undefined ? [] : ['--engine']),
  ];
}

function remedyFor({ set = [], run }: TrainFlags): string {
  if (set.length === 0 || run === undefined) return '';
  return ` What may change of a run is set while it is under way: \`everstep runs set ${shellWord(run)} KEY=VALUE\`.`;
}

/** Any other one was told of when it was asked. */
function announceOwnEngine({ engine }: TrainingConfig, { stack }: Session, output: Output): void {
  if (engine.url === undefined) output.note(`Engine: ${stack?.engineUrl ?? "the workers' own"}.`);
}

function announce({ handle, isAttached, remarks = [] }: StartedRun, output: Output, flags: TrainFlags): void {
  for (const remark of remarks) output.note(escapeControls(remark));
  if (isAttached) {
    output.note(
      `Run ${handle.name} is under way: attached to it. It goes on with the config it was started with.`,
    );
    return;
  }
  const watch = output.hint(`runs watch ${handle.name}`);
  const how = flags.continue ? 'goes on from what its folder holds' : 'is accepted and being prepared';
  output.note(`Run ${handle.name} ${how}. Watch it from elsewhere with: ${watch}`);
}
