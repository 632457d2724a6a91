import path from 'node:path';
import { Command } from 'commander';
import { configText } from '../../config/config-text';
import type { ImportedConfig } from '../../config/import-cookbook';
import { importCookbookConfig } from '../../config/import-cookbook';
import { readConfigText } from '../../config/named-file';
import { hasErrorCode } from '../../core/error-code';
import { DomainError } from '../../core/errors';
import { asSentence } from '../../core/sentences';
import { shellWord } from '../../core/shell-word';
import { escapeControls } from '../escape-controls';
import { openOutput } from '../output';
import { writeWholeText } from '../whole-output';

interface ImportFlags {
  readonly output?: string;
  readonly dataset?: string;
  readonly json?: boolean;
}

export function createCommand(): Command {
  return new Command('import')
    .description("Turn another tool's config into one of everstep")
    .addCommand(cookbookCommand().exitOverride());
}

function cookbookCommand(): Command {
  return new Command('cookbook')
    .description("the config.json that tinker-cookbook's supervised loop writes into its log_path")
    .argument('<config>')
    .option('--output <file>', 'where the YAML goes; else standard output')
    .option('--dataset <data>', 'a file or a dataset on the hub, instead of what the config reads')
    .option('--json', 'one JSON document on standard output')
    .action(importCookbook);
}

async function importCookbook(file: string, flags: ImportFlags): Promise<void> {
  const output = openOutput({ json: flags.json === true });
  const imported = importCookbookConfig(await readJson(file), {
    source: file,
    dataset: flags.dataset,
    folder: process.cwd(),
  });
  const text = toYaml(file, imported);
  if (flags.output !== undefined) await writeWholeText(flags.output, text, { isNew: true });
  output.document({ ...imported, output: flags.output ?? null });
  if (flags.output === undefined) output.line(text.trimEnd());
  for (const { key, reason } of imported.notCarried)
    output.note(escapeControls(`Not carried over: ${key} (${reason}).`));
  if (flags.output !== undefined)
    output.line(
      `Written to ${escapeControls(flags.output)}. Start it with: ${output.hint(`train ${shellWord(flags.output)}`)}`,
    );
}

async function readJson(file: string): Promise<unknown> {
  try {
    return JSON.parse(await readConfigText(file));
  } catch (cause) {
    if (hasErrorCode(cause, 'ENOENT', 'EISDIR')) {
      throw new DomainError(
        'bad-config',
        `${file} cannot be read: ${hasErrorCode(cause, 'EISDIR') ? 'it is a folder' : 'it does not exist'}. ${importable(file)}`,
        { cause },
      );
    }
    if (!(cause instanceof SyntaxError)) throw cause;
    throw new DomainError(
      'bad-config',
      `${file} is not JSON: ${asSentence(cause.message)} ${importable(file)}`,
      { cause },
    );
  }
}

/** What can be imported, and how a person gets it who has the recipe or another file. */
function importable(file: string): string {
  const what =
    "What can be imported is the config.json that tinker-cookbook's supervised loop writes into its log_path as it begins: `everstep import cookbook LOG_PATH/config.json`.";
  const extension = path.extname(file).toLowerCase();
  if (extension === '.py')
    return `${what} A recipe in Python is not read: start it there once, and give the file that it wrote.`;
  if (extension === '.eval')
    return `${what} A log of Inspect AI is read with \`everstep inspect import ${shellWord(file)} --output FOLDER\`.`;
  if (['.yaml', '.yml', '.ts'].includes(extension))
    return `${what} A config of a run is started as it is: \`everstep train ${shellWord(file)}\`.`;
  return what;
}

function toYaml(source: string, { config, notCarried }: ImportedConfig): string {
  const remarks = notCarried.map(({ key, reason }) => `  ${key}: ${reason}`);
  return configText(config, [
    `Made from ${source} by the command "import cookbook".`,
    ...(remarks.length > 0 ? ['Not carried over:', ...remarks] : []),
  ]);
}
