import type { Command } from 'commander';

/** What can be typed after the words of one command. */
export interface CompletionPlace {
  /** `/runs/show`; empty for the program itself. */
  readonly path: string;
  readonly commands: readonly CompletionWord[];
  readonly options: readonly CompletionOption[];
}

export interface CompletionWord {
  readonly name: string;
  readonly summary: string;
}

interface CompletionOption extends CompletionWord {
  readonly takesValue: boolean;
}

/** Every command of a program with what its help lists, the program first. */
export function completionPlaces(command: Command, path = ''): CompletionPlace[] {
  const help = command.createHelp();
  const options = help.visibleOptions(command).map((option) => ({
    name: option.long ?? option.short ?? option.flags,
    summary: firstSentence(option.description),
    takesValue: option.required,
  }));
  const commands = help
    .visibleCommands(command)
    .map((inner) => ({ name: inner.name(), summary: firstSentence(inner.summary() || inner.description()) }));
  return [
    { path, commands, options },
    ...command.commands.flatMap((inner) => completionPlaces(inner, `${path}/${inner.name()}`)),
  ];
}

/** Where a sentence or its first part ends; `e.g. 7d` is no end. */
const END = /[;\n]|(?<!\b(?:e\.g|i\.e|etc|vs|cf))\. /;

/** A list of completions has room for a line each. */
function firstSentence(text: string): string {
  const [first = ''] = text.split(END);
  return first.trim();
}
