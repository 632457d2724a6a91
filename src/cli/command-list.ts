import type { Command } from 'commander';

/** What each file in `commands/` exports. */
interface CommandModule {
  createCommand(): Command;
}

export interface CommandEntry {
  readonly name: string;
  readonly summary: string;
  readonly load: () => unknown;
}

/* oxlint-disable typescript/no-require-imports, typescript/no-unsafe-return -- a command's file, and all it needs, is loaded only when the command is used */
export const COMMANDS: readonly CommandEntry[] = [
  {
    name: 'demo',
    summary: 'a durable run that loses its worker half-way',
    load: () => require('./commands/demo'),
  },
  { name: 'train', summary: 'start a training run and follow it', load: () => require('./commands/train') },
  {
    name: 'eval',
    summary: 'score a model on benchmarks',
    load: () => require('./commands/eval'),
  },
  {
    name: 'backfill',
    summary: 'checkpoints × benchmarks: only what is missing runs',
    load: () => require('./commands/backfill'),
  },
  {
    name: 'runs',
    summary: 'what runs there are and how they stand; change or end one',
    load: () => require('./commands/runs'),
  },
  {
    name: 'schedule',
    summary: 'evaluations that repeat by themselves and alarm when a score moves',
    load: () => require('./commands/schedule'),
  },
  {
    name: 'results',
    summary: 'what benchmarks gave, and every example behind a score',
    load: () => require('./commands/results'),
  },
  {
    name: 'store',
    summary: 'what is left over on disk, and removing it',
    load: () => require('./commands/store'),
  },
  {
    name: 'compare',
    summary: 'is one result better than another, or is it chance',
    load: () => require('./commands/compare'),
  },
  {
    name: 'dev',
    summary: 'Temporal server, engine and workers together',
    load: () => require('./commands/dev'),
  },
  {
    name: 'temporal',
    summary: 'the embedded Temporal server alone',
    load: () => require('./commands/temporal'),
  },
  {
    name: 'import',
    summary: "turn another tool's config into one of everstep",
    load: () => require('./commands/import'),
  },
  {
    name: 'export',
    summary: 'results in the formats of other tools',
    load: () => require('./commands/export'),
  },
  {
    name: 'inspect',
    summary: 'set up Inspect AI, whose tasks `eval` and training runs can use; read its logs',
    load: () => require('./commands/inspect'),
  },
  {
    name: 'grade',
    summary: 'score stored responses without a model',
    load: () => require('./commands/grade'),
  },
  {
    name: 'data',
    summary: 'what a run would train on, row by row',
    load: () => require('./commands/data'),
  },
  {
    name: 'render',
    summary: 'what a renderer makes of conversations, as tokens',
    load: () => require('./commands/render'),
  },
  {
    name: 'benchmarks',
    summary: 'what can be evaluated, with prompts and examples',
    load: () => require('./commands/benchmarks'),
  },
  {
    name: 'serve',
    summary: 'HTTP: runs, live events, and an OpenAI-compatible gateway to checkpoints',
    load: () => require('./commands/serve'),
  },
  {
    name: 'recover',
    summary: 'go on with the runs of a store whose Temporal server is lost',
    load: () => require('./commands/recover'),
  },
  { name: 'engine', summary: 'the local training engine alone', load: () => require('./commands/engine') },
  { name: 'worker', summary: 'workers for some or all roles', load: () => require('./commands/worker') },
  {
    name: 'setup',
    summary: 'prepare a Temporal server of your own: namespace and search attributes',
    load: () => require('./commands/setup'),
  },
  {
    name: 'doctor',
    summary: 'what is found, what is missing, what to do',
    load: () => require('./commands/doctor'),
  },
  {
    name: 'completion',
    summary: 'a script that completes commands and options in bash, zsh or fish',
    load: () => require('./commands/completion'),
  },
];
/* oxlint-enable typescript/no-require-imports, typescript/no-unsafe-return */

export function loadCommand(entry: CommandEntry): Command {
  const loaded = entry.load();
  if (isCommandModule(loaded)) return loaded.createCommand();
  throw new Error(`The file of command ${entry.name} exports no createCommand.`);
}

function isCommandModule(value: unknown): value is CommandModule {
  return (
    typeof value === 'object' &&
    value !== null &&
    'createCommand' in value &&
    typeof value.createCommand === 'function'
  );
}
