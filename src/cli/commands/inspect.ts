import path from 'node:path';
import { Command } from 'commander';
import { childVariables, readEnvironment } from '../../config/environment';
import { shellWord } from '../../core/shell-word';
import { inspectProgram } from '../../evaluation/inspect/run/inspect-program';
import { setUpInspect } from '../../evaluation/inspect/run/python-environment';
import { importInspectLog } from '../../evaluation/inspect/import-log';
import { EXIT } from '../exit-codes';
import { catchInterrupts } from '../interrupts';
import { formatNumber } from '../number-format';
import { openOutput } from '../output';
import { writingTo } from '../output-error';
import { repeated } from '../repeated-option';

interface SetupFlags {
  readonly python?: string;
  readonly with?: readonly string[];
  readonly pass?: readonly string[];
  readonly json?: boolean;
}

interface ImportFlags {
  readonly output: string;
  readonly json?: boolean;
}

export function createCommand(): Command {
  return new Command('inspect')
    .description('Tasks and logs of Inspect AI')
    .addCommand(setupCommand().exitOverride())
    .addCommand(importCommand().exitOverride());
}

function setupCommand(): Command {
  return new Command('setup')
    .description('Make the Python environment that tasks run in, once for this machine; what is there stays')
    .option('--python <path>', 'use this interpreter, which has inspect_ai and openai, and install nothing')
    .option('--with <package>', 'install this too, e.g. inspect-evals; may be repeated', repeated)
    .option(
      '--pass <variable>',
      "let tasks have this variable of the worker's environment, e.g. HF_TOKEN; may be repeated; `none` takes back all",
      repeated,
    )
    .option('--json', 'one JSON document on standard output')
    .action(async (flags: SetupFlags) => {
      process.exitCode = await setUp(flags);
    });
}

async function setUp(flags: SetupFlags): Promise<number> {
  const output = openOutput(flags);
  const interrupts = catchInterrupts(output);
  try {
    const { cacheFolder } = readEnvironment();
    const report = await setUpInspect({
      cacheFolder,
      variables: childVariables({}),
      extraPackages: flags.with ?? [],
      onProgress: (text) => {
        output.note(text);
      },
      signal: interrupts.signal,
      ...(flags.python !== undefined && { python: flags.python }),
      ...(flags.pass && { passed: flags.pass.filter((name) => name !== 'none') }),
    });
    output.document(report);
    output.line(
      `Inspect AI ${report.inspectVersion}, run by ${report.python}${report.isNew ? '' : ' (was there)'}`,
    );
    output.line(`Its viewer: ${shellWord(await inspectProgram(cacheFolder))} view --log-dir FOLDER`);
    if (report.variables.length > 0)
      output.line(`Tasks get these variables of the worker that runs them: ${report.variables.join(', ')}`);
    return EXIT.done;
  } catch (error) {
    if (interrupts.signal.aborted) return EXIT.interrupted;
    throw error;
  } finally {
    interrupts.dispose();
  }
}

function importCommand(): Command {
  return new Command('import')
    .description('Read a log (.eval or .json) as a result that `results show` and `compare` take')
    .argument('<log>', 'the file')
    .requiredOption('--output <folder>', 'gets <task>/result.json and <task>/trajectories.jsonl')
    .option('--json', 'one JSON document on standard output')
    .action(async (log: string, flags: ImportFlags) => {
      const output = openOutput(flags);
      const result = await writingTo('--output', flags.output, () =>
        importInspectLog(path.resolve(log), path.resolve(flags.output)),
      );
      output.document(result);
      const { name, score, num_examples: count, num_errors: errors } = result;
      output.line(
        `${name}: ${formatNumber(score)} of ${count} samples, ${errors} errors, in ${flags.output}`,
      );
    });
}
