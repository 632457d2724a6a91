import { open } from 'node:fs/promises';
import { Command, InvalidArgumentError } from 'commander';
import { renderLines } from '../../client/render';
import type { TemplateArguments } from '../../core/conversation';
import { openOutput } from '../output';
import { print, writeWhole } from '../whole-output';

interface RenderFlags {
  readonly model: string;
  readonly input: string;
  readonly renderer?: string;
  readonly templateArguments?: TemplateArguments;
  readonly output?: string;
}

type Write = (text: string) => Promise<void>;

const WRITE_SIZE = 64 * 1024;

export function createCommand(): Command {
  return new Command('render')
    .description('What a renderer makes of conversations: a line out for each line in, in order')
    .requiredOption('--model <folder-or-name>', 'whose tokenizer it is: a folder with it, or a model’s name')
    .option('--renderer <name>', 'how conversations become tokens (the one recommended for the model)')
    .option(
      '--template-arguments <json>',
      'variables of the chat template, e.g. \'{"enable_thinking": false}\'',
      parseArguments,
    )
    .requiredOption(
      '--input <file>',
      'JSONL of {"kind"} with "supervised", "prompt", "stop", "parse" or "encode"',
    )
    .option('--output <file>', 'JSONL of what each line asks, or {"error"}; else standard output')
    .action(run);
}

async function run(flags: RenderFlags): Promise<void> {
  const output = openOutput({});
  const counts = await (flags.output === undefined ? answer(flags, print) : answerInto(flags.output, flags));
  const refused = counts.refused === 0 ? '' : `, ${counts.refused} refused (see "error")`;
  output.note(`${counts.lines} lines${refused}.${flags.output ? ` Written to ${flags.output}.` : ''}`);
}

function answerInto(file: string, flags: RenderFlags) {
  return writeWhole(file, async (temporary) => {
    const handle = await open(temporary, 'w');
    try {
      return await answer(flags, (text) => handle.appendFile(text));
    } finally {
      await handle.close();
    }
  });
}

async function answer(
  { input, model, renderer, templateArguments }: RenderFlags,
  write: Write,
): Promise<{ lines: number; refused: number }> {
  const counts = { lines: 0, refused: 0 };
  let waiting = '';
  for await (const line of renderLines(input, { model, renderer, templateArguments })) {
    counts.lines += 1;
    if ('error' in line) counts.refused += 1;
    waiting += `${JSON.stringify(line)}\n`;
    if (waiting.length < WRITE_SIZE) continue;
    await write(waiting);
    waiting = '';
  }
  await write(waiting);
  return counts;
}

function parseArguments(text: string): TemplateArguments {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return { ...value };
  } catch {
    // Told below, as any other text that is no object.
  }
  throw new InvalidArgumentError('Give a JSON object, e.g. \'{"enable_thinking": false}\'.');
}
