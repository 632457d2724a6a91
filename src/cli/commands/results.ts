import { Command } from 'commander';
import { readEnvironment } from '../../config/environment';
import { openOutput } from '../output';
import type { Output } from '../output';
import { repeated } from '../repeated-option';
import type { PlaceFlags } from '../service-options';
import { addPlaces, parseCount } from '../service-options';
import type { CancelFlags } from './results-cancel';
import { cancelResults } from './results-cancel';
import type { DeleteFlags } from './runs-delete';
import { deleteResults } from './results-delete';
import { addJudgeOptions } from './judge-options';
import type { RegradeFlags } from './results-regrade';
import { regradeResults } from './results-regrade';
import { listResults } from './results-list';
import type { RejudgeFlags } from './results-rejudge';
import { rejudgeResults } from './results-rejudge';
import { showResults } from './results-show';
import type { TrajectoryFlags } from './results-trajectories';
import { showTrajectories } from './results-trajectories';

interface ResultsFlags extends PlaceFlags {
  readonly json?: boolean;
}

export function createCommand(): Command {
  const command = new Command('results').description(
    'What benchmarks gave, and every example behind a score',
  );
  for (const subcommand of [
    listCommand(),
    showCommand(),
    trajectoriesCommand(),
    cancelCommand(),
    deleteCommand(),
    rejudgeCommand(),
    regradeCommand(),
  ]) {
    subcommand.option('--json', 'one JSON document on standard output').exitOverride();
    command.addCommand(addPlaces(subcommand, { store: true }));
  }
  return command;
}

function listCommand(): Command {
  return new Command('list')
    .description('eval runs of the store and those under way, the newest first')
    .action((flags: ResultsFlags) => listResults(openOutput(flags), flags));
}

function cancelCommand(): Command {
  return new Command('cancel')
    .description('call off what is under way of an eval run; what was answered is kept')
    .argument('<run>', 'name of an eval run (`everstep results list` shows them)')
    .option('--benchmark <names>', 'only these, separated by commas', parseNames)
    .option('--yes', 'without asking whether it is meant')
    .action(async (run: string, flags: ResultsFlags & CancelFlags) => {
      process.exitCode = await cancelResults(run, flags, openOutput(flags));
    });
}

function deleteCommand(): Command {
  return new Command('delete')
    .description(
      'delete the results of eval runs that have ended and that nothing refers to; shows what would go unless --yes is given',
    )
    .argument('<runs...>', 'names of eval runs (`everstep results list` shows them)')
    .option('--dry-run', 'only show what would go, also with --yes')
    .option('--yes', 'delete them')
    .action(async (runs: string[], flags: ResultsFlags & DeleteFlags) => {
      process.exitCode = await deleteResults(runs, flags, openOutput(flags));
    });
}

function rejudgeCommand(): Command {
  const command = new Command('rejudge')
    .description('judge stored answers again by another model, beside them; the model is not asked')
    .argument('<results>', 'a folder of results, the name of an eval run, RUN@STEP, or RUN')
    .option('--benchmark <names>', 'only these, separated by commas (all that are judged)', parseNames)
    .option('--plugins <file>', 'plug-in file with what was judged (the one it was begun with)')
    .option('--run <name>', 'name of the new eval run (that of the other, and of the judge)')
    .option('--output <folder>', 'folder of the new results (beside the others)');
  addJudgeOptions(command);
  command.option(
    '--set <key=value>',
    'how a judge is asked, e.g. judge.0.votes=3 (0 is the first); may be repeated',
    repeated,
  );
  return command.action(async (results: string, flags: ResultsFlags & RejudgeFlags) => {
    process.exitCode = await rejudgeResults(results, flags, openOutput(flags));
  });
}

function regradeCommand(): Command {
  return new Command('regrade')
    .description('grade stored answers again with the grader as it is now; the model is not asked')
    .argument('<results>', 'a folder of results, or the name of an eval run')
    .option('--plugins <file>', 'plug-in file with the grader (the one it was begun with)')
    .option('--benchmarks <names>', 'only these, separated by commas (all that a grader judged)', parseNames)
    .option('--dry-run', 'says what would be graded, and what differs; starts nothing')
    .action(async (results: string, flags: ResultsFlags & RegradeFlags) => {
      process.exitCode = await regradeResults(results, flags, openOutput(flags));
    });
}

function parseNames(text: string): string[] {
  return text.split(',').map((name) => name.trim().replaceAll('-', '_'));
}

function showCommand(): Command {
  return new Command('show')
    .description('scores of each benchmark, with what they were made of')
    .argument('<results>', 'a folder of results, the name of an eval run, RUN@STEP, or RUN')
    .action((results: string, flags: ResultsFlags) =>
      perform(flags, (output, store) => showResults(output, { store, text: results, flags })),
    );
}

function trajectoriesCommand(): Command {
  return new Command('trajectories')
    .description('examples one by one: what was asked, answered, and how it was graded')
    .argument('<results>', 'a folder of results, the name of an eval run, RUN@STEP, or RUN')
    .argument('[benchmark]', 'needed where there are several')
    .option('--correct', 'only examples scored above 0')
    .option('--incorrect', 'only examples answered whole and judged wrong')
    .option('--errors', 'only examples that failed')
    .option('--truncated', 'only examples cut at a limit')
    .option('--unparsed', "only examples of which no judge's verdict could be read")
    .option('--flipped <results>', 'only examples that other results score differently')
    .option('--id <example>', 'only this example')
    .option('--limit <n>', 'at most n (20 unless --json); with --html so many examples (4)', parseCount)
    .option('--characters <n>', 'of each turn (500)', parseCount)
    .option('--html <file>', 'write them as a page for a browser instead')
    .action((results: string, benchmark: string | undefined, flags: ResultsFlags & TrajectoryFlags) =>
      perform(flags, (output, store) => showTrajectories(output, { store, results, benchmark, flags })),
    );
}

async function perform(
  flags: ResultsFlags,
  action: (output: Output, store: string) => Promise<void>,
): Promise<void> {
  await action(openOutput(flags), readEnvironment(flags).store);
}
