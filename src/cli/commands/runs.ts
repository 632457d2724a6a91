import { Command, InvalidArgumentError } from 'commander';
import type { RunFilter, RunSort } from '../../client/run-summary';
import { RUN_KINDS, RUN_SORTS } from '../../client/run-summary';
import type { RunStatus } from '../../core/run';
import { RUN_STATUSES } from '../../core/run';
import { openForReading } from '../connect';
import type { Session } from '../connect';
import { openOutput } from '../output';
import type { Output } from '../output';
import type { PlaceFlags } from '../service-options';
import { addPlaces, parseCount } from '../service-options';
import { createCommand as backfillCommand } from './backfill';
import { changeCommands, parseStep } from './runs-change-commands';
import type { CompareRunsFlags } from './runs-compare';
import { compareTwoRuns } from './runs-compare';
import { showControls, showTimeline } from './runs-timeline';
import type { MetricsFlags } from './runs-metrics';
import { showMetrics } from './runs-metrics';
import { cancelOneRun, stopOneRun } from './runs-ending';
import type { EndingFlags, StopFlags } from './runs-ending';
import type { DeleteFlags } from './runs-delete';
import { deleteOneRun } from './runs-delete';
import { rolloutCommands } from './runs-rollouts';
import { showRun, showScores } from './runs-actions';
import { watchWhenStarted } from './runs-watch';
import { showCheckpoints, showEvaluations } from './runs-checkpoints';
import { LIST_LIMIT, listRuns } from './runs-list';

interface RunsFlags extends PlaceFlags {
  readonly json?: boolean;
}

type Action = (session: Session, output: Output) => Promise<number>;

export function createCommand(): Command {
  const command = new Command('runs').description(
    'What runs there are, how they stand, and changing or ending one; `runs set --help` lists what can be set',
  );
  const subcommands = [
    listCommand(),
    showCommand(),
    scoresCommand(),
    metricsCommand(),
    checkpointsCommand(),
    evaluationsCommand(),
    watchCommand(),
    timelineCommand(),
    compareCommand(),
    controlsCommand(),
    ...rolloutCommands(perform),
    ...changeCommands(),
    stopCommand(),
    cancelCommand(),
    deleteCommand(),
  ];
  for (const subcommand of subcommands) {
    subcommand.option('--json', 'one JSON document on standard output').exitOverride();
    command.addCommand(addPlaces(subcommand, { store: true }));
  }
  command.addCommand(backfillCommand().exitOverride());
  return command;
}

function listCommand(): Command {
  return new Command('list')
    .description('all runs, the newest first')
    .option('--status <status>', `only ${RUN_STATUSES.join(', ')}`, parseStatus)
    .option('--kind <kind>', `only ${RUN_KINDS.join(', ')}`, parseKind)
    .option('--model <model>', 'only this base model')
    .option(
      '--where <query>',
      "Temporal's list filter, e.g. 'EverstepScore > 0.5 AND EverstepKind = \"sft\"'",
    )
    .option(
      '--sort <order>',
      'started: the newest first (default); score: the best; step: the furthest',
      parseSort,
    )
    .option('--limit <n>', `so many at most (${LIST_LIMIT})`, parseCount)
    .action((flags: RunsFlags & RunFilter) =>
      perform(flags, (session, output) => listRuns(session, output, filterOf(flags))),
    );
}

function filterOf({ status, kind, model, where, sort, limit = LIST_LIMIT }: RunFilter): RunFilter {
  return {
    limit,
    ...(status !== undefined && { status }),
    ...(kind !== undefined && { kind }),
    ...(model !== undefined && { model }),
    ...(where !== undefined && { where }),
    ...(sort !== undefined && { sort }),
  };
}

function showCommand(): Command {
  return new Command('show')
    .description('one run: state, config, checkpoints, digest of the final weights')
    .argument('<run>')
    .action((run: string, flags: RunsFlags) =>
      perform(flags, (session, output) => showRun(session.everstep.run(run), session, output)),
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
    .option('--every <n>', 'only steps that are a multiple of n, the first and the last', parseCount)
    .option('--points <n>', 'only n rows, evenly spread', parseCount)
    .option('--with-scores', 'with the scores of each step')
    .option(
      '--columns <names>',
      "these metrics only, e.g. train/loss,'env/all/*'; all for all. A terminal shows what it has room for",
    )
    .option('--csv', 'as comma-separated values, with all digits')
    .action((run: string, flags: RunsFlags & MetricsFlags) =>
      perform(flags, (session, output) => showMetrics(session.everstep.run(run), output, flags)),
    );
}

function checkpointsCommand(): Command {
  return new Command('checkpoints')
    .description('checkpoints of a run, with the scores of each')
    .argument('<run>')
    .action((run: string, flags: RunsFlags) =>
      perform(flags, (session, output) => showCheckpoints(session.everstep.run(run), output)),
    );
}

function evaluationsCommand(): Command {
  return new Command('evaluations')
    .description('every evaluation of a run; those under way with what they have so far')
    .argument('<run>')
    .action((run: string, flags: RunsFlags) =>
      perform(flags, (session, output) => showEvaluations(session.everstep.run(run), output)),
    );
}

function watchCommand(): Command {
  return new Command('watch')
    .description(
      'follow a run until it ends (exit 0 when it completed or was stopped, 1 when it was cancelled or failed)',
    )
    .argument('<run>')
    .action(async (run: string, flags: RunsFlags) => {
      process.exitCode = await watchWhenStarted(run, flags);
    });
}

function timelineCommand(): Command {
  return new Command('timeline')
    .description('everything that happened to a run: saves, evaluations, changes, waits, rewinds')
    .argument('<run>')
    .action((run: string, flags: RunsFlags) =>
      perform(flags, (session, output) => showTimeline(session.everstep.run(run), output)),
    );
}

function compareCommand(): Command {
  return new Command('compare')
    .description(
      'two training runs: metrics step by step, last evaluations paired by example, what their configs differ in',
    )
    .argument('<a>', 'a training run')
    .argument('<b>', 'another one')
    .option(
      '--metric <names...>',
      "these metrics or scores, e.g. train/nll test/nll 'env/all/*' (what both are watched by, and every score)",
    )
    .option('--points <n>', 'so many common steps of each metric (6)', parseCount)
    .action((a: string, b: string, flags: RunsFlags & CompareRunsFlags) =>
      perform(flags, ({ everstep }, output) => compareTwoRuns([a, b], { everstep, output }, flags)),
    );
}

function controlsCommand(): Command {
  return new Command('controls')
    .description('changes people made while it ran: who, when, why, from which step')
    .argument('<run>')
    .action((run: string, flags: RunsFlags) =>
      perform(flags, (session, output) => showControls(session.everstep.run(run), output)),
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

function deleteCommand(): Command {
  return new Command('delete')
    .description(
      'delete an ended run that nothing refers to, and free its name; shows what would go unless --yes is given',
    )
    .argument('<run>')
    .option('--dry-run', 'only show what would go, also with --yes')
    .option('--yes', 'delete it')
    .action((run: string, flags: RunsFlags & DeleteFlags) =>
      perform(flags, ({ everstep }, output) => deleteOneRun(run, { everstep, output }, flags)),
    );
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

function parseSort(text: string): RunSort {
  const sort = RUN_SORTS.find((known) => known === text);
  if (sort) return sort;
  throw new InvalidArgumentError(`Use one of ${RUN_SORTS.join(', ')}.`);
}

function parseKind(text: string): string {
  if (RUN_KINDS.some((known) => known === text)) return text;
  throw new InvalidArgumentError(`Use one of ${RUN_KINDS.join(', ')}.`);
}

function parseStatus(text: string): RunStatus {
  const status = RUN_STATUSES.find((known) => known === text);
  if (status) return status;
  throw new InvalidArgumentError(`Use one of ${RUN_STATUSES.join(', ')}.`);
}
