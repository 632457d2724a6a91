import { Command, InvalidArgumentError } from 'commander';
import type { RunFilter } from '../../client/list-runs';
import type { RunStatus } from '../../core/run';
import { RUN_STATUSES } from '../../core/run';
import { openForReading } from '../connect';
import type { Session } from '../connect';
import { openOutput } from '../output';
import type { Output } from '../output';
import type { PlaceFlags } from '../service-options';
import { addPlaces } from '../service-options';
import type { MetricsFlags } from './runs-actions';
import { cancelOneRun, stopOneRun } from './runs-ending';
import type { EndingFlags, StopFlags } from './runs-ending';
import { listRuns, showMetrics, showRun, showScores, watchOneRun } from './runs-actions';

interface RunsFlags extends PlaceFlags {
  readonly json?: boolean;
}

type Action = (session: Session, output: Output) => Promise<number>;

export function createCommand(): Command {
  const command = new Command('runs').description(
    'What runs there are, how they stand, and ending one early',
  );
  const subcommands = [
    listCommand(),
    showCommand(),
    scoresCommand(),
    metricsCommand(),
    watchCommand(),
    stopCommand(),
    cancelCommand(),
  ];
  for (const subcommand of subcommands) {
    subcommand.option('--json', 'one JSON document on standard output').exitOverride();
    command.addCommand(addPlaces(subcommand, { store: true }));
  }
  return command;
}

function listCommand(): Command {
  return new Command('list')
    .description('all runs, the newest first')
    .option('--status <status>', `only ${RUN_STATUSES.join(', ')}`, parseStatus)
    .option('--kind <kind>', 'only this kind, e.g. sft')
    .option('--model <model>', 'only this base model')
    .action((flags: RunsFlags & RunFilter) =>
      perform(flags, (session, output) => listRuns(session, output, flags)),
    );
}

function showCommand(): Command {
  return new Command('show')
    .description('one run: state, config, checkpoints, digest of the final weights')
    .argument('<run>')
    .action((run: string, flags: RunsFlags) =>
      perform(flags, (session, output) => showRun(session.everstep.run(run), output)),
    );
}

function scoresCommand(): Command {
  return new Command('scores')
    .description('every score of a run')
    .argument('<run>')
    .action((run: string, flags: RunsFlags) =>
      perform(flags, (session, output) => showScores(session.everstep.run(run), output)),
    );
}

function metricsCommand(): Command {
  return new Command('metrics')
    .description('one row a step')
    .argument('<run>')
    .option('--from <step>', 'first step', parseStep)
    .option('--to <step>', 'last step', parseStep)
    .option('--last <n>', 'only the last n rows', parseStep)
    .option('--with-scores', 'with the scores of each step')
    .action((run: string, flags: RunsFlags & MetricsFlags) =>
      perform(flags, (session, output) => showMetrics(session.everstep.run(run), output, flags)),
    );
}

function watchCommand(): Command {
  return new Command('watch')
    .description(
      'follow a run until it ends (exit 0 when it completed or was stopped, 1 when it was cancelled or failed)',
    )
    .argument('<run>')
    .action((run: string, flags: RunsFlags) =>
      perform(flags, (session, output) => watchOneRun(session.everstep.run(run), session, output)),
    );
}

function stopCommand(): Command {
  return new Command('stop')
    .description(
      'end a run early: a last step is finished, saved and evaluated; waits for the end. Without a server, starts what is needed',
    )
    .argument('<run>')
    .option('--at-step <n>', 'the last step to train, instead of the next possible; does not wait', parseStep)
    .option('--detach', 'return as soon as the step is known')
    .option('--yes', 'without asking; needed where no terminal is')
    .option('--reason <text>', 'why, for controls.jsonl')
    .action(async (run: string, flags: RunsFlags & StopFlags) => {
      process.exitCode = await stopOneRun(run, flags, openOutput(flags));
    });
}

function cancelCommand(): Command {
  return new Command('cancel')
    .description(
      'end a run at once and wait until it is closed; what it reached is saved where that is quick. Without a server, starts what is needed',
    )
    .argument('<run>')
    .option('--yes', 'without asking; needed where no terminal is')
    .option('--reason <text>', 'why, for controls.jsonl')
    .action(async (run: string, flags: RunsFlags & EndingFlags) => {
      process.exitCode = await cancelOneRun(run, flags, openOutput(flags));
    });
}

async function perform(flags: RunsFlags, action: Action): Promise<void> {
  const output = openOutput(flags);
  const session = await openForReading(flags);
  try {
    process.exitCode = await action(session, output);
  } finally {
    await session.close();
  }
}

function parseStatus(text: string): RunStatus {
  const status = RUN_STATUSES.find((known) => known === text);
  if (status) return status;
  throw new InvalidArgumentError(`Use one of ${RUN_STATUSES.join(', ')}.`);
}

function parseStep(text: string): number {
  if (/^\d{1,12}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('Give a whole number, 0 or more.');
}
