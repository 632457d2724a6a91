import { resolve } from 'node:path';
import { existsSync } from 'node:fs';
import { Command } from 'commander';
import { readEnvironment } from '../../config/environment';
import { DomainError } from '../../core/errors';
import { shellWord } from '../../core/shell-word';
import { exportInspectLogs } from '../../evaluation/inspect/export/export-logs';
import { inspectProgram } from '../../evaluation/inspect/run/inspect-program';
import { listBenchmarks, locateResults } from '../../stores/eval-places';
import { exportForCookbook } from '../../stores/export-cookbook';
import { escapeControls } from '../escape-controls';
import { openOutput } from '../output';
import { writingTo } from '../output-error';
import type { PlaceFlags } from '../service-options';
import { addPlaces } from '../service-options';
import { explainUnfinished, unfinishedText } from '../unfinished-benchmarks';

interface ExportFlags extends PlaceFlags {
  readonly output: string;
  readonly json?: boolean;
}

export function createCommand(): Command {
  return new Command('export')
    .description('Results in the formats of other tools')
    .addCommand(cookbookCommand().exitOverride())
    .addCommand(inspectCommand().exitOverride());
}

function cookbookCommand(): Command {
  const command = new Command('cookbook')
    .description("for tinker-cookbook's load_result, load_trajectories, load_summary and EvalStore")
    .argument(
      '<results>',
      'a folder of results or of eval runs, the name of an eval run, RUN@STEP, RUN@best, or RUN',
    )
    .requiredOption('--output <folder>', 'where it goes; must not be there yet')
    .option('--json', 'one JSON document on standard output')
    .action(exportCookbook);
  return addPlaces(command, { store: true });
}

async function exportCookbook(results: string, flags: ExportFlags): Promise<void> {
  const output = openOutput(flags);
  const { store } = readEnvironment(flags);
  const folder = await folderOf(results, store);
  const written = await writingTo('--output', flags.output, () =>
    exportForCookbook(folder, resolve(flags.output)),
  );
  output.document(written);
  output.line(`${written.benchmarkCount} results of ${written.runs.join(', ')} in ${written.output}`);
  if (written.malformedCount > 0)
    output.note(`${written.malformedCount} lines of trajectories could not be read and were left out.`);
}

/** A store is a folder like any other, and holds no results by itself. */
async function folderOf(results: string, store: string): Promise<string> {
  const folder = resolve(results);
  if (folder === resolve(store) && existsSync(folder)) return folder;
  return (await locateResults(results, store)).folder;
}

function inspectCommand(): Command {
  const command = new Command('inspect')
    .description('logs of Inspect AI, one a benchmark, for `inspect view` and `read_eval_log`')
    .argument(
      '<results>',
      'a folder of results or of one benchmark, the name of an eval run, RUN@STEP, RUN@best, or RUN',
    )
    .requiredOption('--output <folder>', 'where the logs go; may be there already')
    .option('--json', 'one JSON document on standard output')
    .action(exportInspect);
  return addPlaces(command, { store: true });
}

async function exportInspect(results: string, flags: ExportFlags): Promise<void> {
  const output = openOutput(flags);
  const { store, cacheFolder } = readEnvironment(flags);
  const place = await locateResults(results, store);
  const { finished, unfinished } = await listBenchmarks(place.folder);
  const explained = await explainUnfinished(place.folder, place.benchmark === null ? unfinished : [], flags);
  const { failed } = explained;
  if (finished.length === 0 && failed.length > 0)
    throw new DomainError(
      'bad-config',
      `${place.folder} has nothing to export. ${unfinishedText(explained)}`,
    );
  const written = await writingTo('--output', flags.output, () =>
    exportInspectLogs(place, resolve(flags.output)),
  );
  output.document({ ...written, ...(failed.length > 0 && { failed }) });
  for (const { benchmark, path, sampleCount } of written.logs)
    output.line(`${benchmark}: ${sampleCount} samples in ${path}`);
  const viewer = `${shellWord(await inspectProgram(cacheFolder))} view --log-dir`;
  output.note(`Look at them: ${viewer} ${shellWord(written.output)}`);
  for (const { name, folder } of written.ranByInspect)
    output.note(`${name} was run by Inspect, whose own logs say more: ${viewer} ${shellWord(folder)}`);
  if (written.unfinished.length > 0) output.note(escapeControls(`Left out. ${unfinishedText(explained)}`));
  const malformedCount = written.logs.reduce((sum, log) => sum + log.malformedCount, 0);
  if (malformedCount > 0)
    output.note(`${malformedCount} lines of trajectories could not be read and were left out.`);
}
