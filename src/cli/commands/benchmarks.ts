import path from 'node:path';
import { Command } from 'commander';
import { readEnvironment } from '../../config/environment';
import type { Environment } from '../../config/environment';
import { BENCHMARKS, findBenchmark } from '../../evaluation/benchmarks';
import type { Benchmark } from '../../evaluation/benchmarks/benchmark';
import { createBenchmarkRowReader } from '../../evaluation/benchmarks/benchmark-rows';
import { loadExamples } from '../../evaluation/benchmarks/load-examples';
import type { Example } from '../../evaluation/example';
import { findKind, KINDS, lookUpKind } from '../../evaluation/kinds';
import type { Kind } from '../../evaluation/kinds/kind';
import { loadPlugins, NO_PLUGINS } from '../../evaluation/plugins';
import type { PluginRegistry } from '../../evaluation/plugins';
import { escapeControls } from '../escape-controls';
import type { Output } from '../output';
import { openOutput } from '../output';
import { printPair } from '../printed-pair';
import { addPlaces, parseCount } from '../service-options';
import type { PlaceFlags } from '../service-options';
import { printTable } from '../tables';
import { linesOf as wrappedLines, wrapRows } from '../wrapped-rows';
import { withNearest } from './eval-names';

interface ListFlags {
  readonly plugins?: string;
  readonly json?: boolean;
}

interface ShowFlags extends ListFlags, PlaceFlags {
  readonly examples?: number;
}

/** How much of a prompt a person is shown. */
const PROMPT_LENGTH = 2000;

export function createCommand(): Command {
  const benchmarks = new Command('benchmarks').description('The benchmarks that can be evaluated');
  benchmarks
    .command('list', { isDefault: true })
    .description('names, versions and what each asks')
    .option('--plugins <file>', 'also those of a plug-in file')
    .option('--json', 'print JSON')
    .action(list);
  addPlaces(
    benchmarks
      .command('show')
      .description('data, prompt, grader and what its score may be compared with')
      .argument('<name>', 'a benchmark; hyphens may stand for underscores')
      .option('--examples <n>', 'also the first n examples in the order they are asked', parseCount)
      .option('--plugins <file>', 'also look in a plug-in file')
      .option('--json', 'print JSON'),
    { store: false },
  ).action(show);
  return benchmarks;
}

async function list(flags: ListFlags): Promise<void> {
  const output = openOutput({ json: flags.json === true });
  const plugins = await pluginsOf(flags);
  const own = [...plugins.benchmarks.keys()].map((name) => findBenchmark(name, plugins));
  const benchmarks = [...BENCHMARKS, ...own];
  const kinds = [...KINDS, ...[...plugins.kinds.keys()].map((name) => findKind(name, plugins))];
  output.document({ benchmarks: benchmarks.map(describe), tasks: kinds.map(describeKind) });
  for (const { title, isMember, run } of GROUPS)
    printGroup(output, { title, run }, benchmarks.filter(isMember));
  output.line(output.colors.bold('Tasks of the further kinds: tokens and their likelihoods'));
  printCommand(output, '--checkpoint RUN[@STEP] | --engine URL --model M');
  printFitted(output, {
    heading: ['task', 'version', 'measured by', 'asks'],
    rows: kinds.map(({ name, version, kind, description }) => [name, String(version), kind, description]),
  });
}

const ANY_MODEL = '--model M --endpoint URL | --checkpoint RUN[@STEP] | --engine URL --model M';

/** A pipe gets one line of each, whatever its length. */
function printFitted(
  output: Output,
  { heading, rows }: { readonly heading: readonly string[]; readonly rows: readonly (readonly string[])[] },
): void {
  const { isTerminal, columns } = output;
  printTable(output, heading, isTerminal ? wrapRows(rows, { heading, columns }) : rows);
}

function printCommand(output: Output, options: string): void {
  const command = output.hint('eval NAME');
  const room = output.isTerminal ? output.columns - INDENT.length : Infinity;
  const [first = '', ...rest] = wrappedLines(`${command} ${options}`, room);
  for (const line of [first, ...rest.map((each) => `${INDENT}${each}`)]) output.line(line);
}

const INDENT = '  ';

interface Group {
  readonly title: string;
  /** How its members are run, behind the name. */
  readonly run: string;
  readonly isMember: (benchmark: Benchmark) => boolean;
}

const isOfTurns = (benchmark: Benchmark) => benchmark.environment !== undefined;
const isRunnable = ({ needsSandbox }: Benchmark) => needsSandbox === true;

const GROUPS: readonly Group[] = [
  {
    title: 'One answer, graded',
    run: ANY_MODEL,
    isMember: (benchmark) => !isOfTurns(benchmark) && !isRunnable(benchmark),
  },
  {
    title: 'One answer, run as a program in a sandbox',
    run: `${ANY_MODEL} (workers with the role grading)`,
    isMember: (benchmark) => !isOfTurns(benchmark) && isRunnable(benchmark),
  },
  {
    title: 'Several turns with an environment',
    run: `${ANY_MODEL} [--agent-concurrency N]`,
    isMember: isOfTurns,
  },
];

function printGroup(
  output: Output,
  { title, run }: Pick<Group, 'title' | 'run'>,
  benchmarks: readonly Benchmark[],
): void {
  if (benchmarks.length === 0) return;
  output.line(output.colors.bold(title));
  printCommand(output, run);
  printFitted(output, {
    heading: ['benchmark', 'version', 'asks'],
    rows: benchmarks.map(({ name, version, description }) => [name, String(version), description]),
  });
  output.line('');
}

async function show(name: string, flags: ShowFlags): Promise<void> {
  const output = openOutput({ ...flags, json: flags.json === true });
  const plugins = await pluginsOf(flags);
  const kind = lookUpKind(name, plugins);
  if (kind) {
    showKind(output, kind);
    return;
  }
  const benchmark = lookUp(name, plugins);
  const { examples = [], source = null } =
    flags.examples === undefined ? {} : await readExamples(benchmark, readEnvironment(flags));
  const shown = examples.slice(0, flags.examples);
  output.document({
    ...describe(benchmark),
    ...(source !== null && { source, exampleCount: examples.length, examples: shown }),
  });
  for (const [title, text] of linesOf(benchmark)) printFact(output, title, text);
  if (source !== null) printFact(output, 'examples', `${examples.length}${originOf(benchmark, source)}`);
  for (const example of shown) printExample(output, example);
}

/** Where the rows were read, where they were. */
function originOf({ data }: Benchmark, source: string): string {
  return 'rows' in data ? `, ${source}` : ` from ${source}`;
}

function lookUp(name: string, plugins: PluginRegistry): Benchmark {
  try {
    return findBenchmark(name, plugins);
  } catch (error) {
    throw withNearest(error, name);
  }
}

function showKind(output: Output, kind: Kind): void {
  output.document(describeKind(kind));
  for (const [title, value] of Object.entries(describeKind(kind))) {
    printFact(output, title, typeof value === 'string' ? value : JSON.stringify(value));
  }
}

function printFact(output: Output, name: string, text: string): void {
  printPair(output, { name, text, width: 15 });
}

function describeKind({ name, version, kind, description, metric, higherIsBetter, data }: Kind) {
  const source = 'rows' in data ? { rows: 'made by code' } : data;
  return { name, version, measuredBy: kind, description, metric, higherIsBetter, data: source };
}

async function pluginsOf({ plugins }: ListFlags): Promise<PluginRegistry> {
  return plugins === undefined ? NO_PLUGINS : loadPlugins(plugins);
}

function describe(benchmark: Benchmark) {
  const { name, version, description, comparableWith, data, orderSeed, generation } = benchmark;
  return {
    name,
    version,
    description,
    comparableWith,
    data: 'rows' in data ? { rows: 'made by code' } : data,
    orderSeed,
    turns: benchmark.environment === undefined ? 'one' : 'several',
    metric: benchmark.metric ?? 'accuracy',
    grader: benchmark.grader.version,
    generation,
    systemPrompt: benchmark.systemPrompt ?? null,
  };
}

function dataText({ data }: Benchmark): string {
  if ('rows' in data) return 'made by code';
  return 'path' in data ? data.path : data.hub;
}

function linesOf(benchmark: Benchmark): [string, string][] {
  const { turns, metric, grader, generation, systemPrompt } = describe(benchmark);
  const { data } = benchmark;
  const revision = 'hub' in data ? ` (${data.split}) at ${data.revision ?? 'its newest commit'}` : '';
  return [
    ['benchmark', `${benchmark.name}, version ${benchmark.version}`],
    ['asks', benchmark.description],
    ['compare with', benchmark.comparableWith],
    ['data', `${dataText(benchmark)}${revision}`],
    ['turns', turns],
    ['score', `${metric}, judged by ${grader}`],
    [
      'generation',
      `at most ${generation.maxTokens} tokens, temperature ${generation.temperature}, top p ${generation.topP}`,
    ],
    ...(systemPrompt === null ? [] : [['system prompt', systemPrompt] satisfies [string, string]]),
  ];
}

async function readExamples(benchmark: Benchmark, environment: Environment) {
  const { huggingFaceToken, huggingFaceUrl, benchmarkDataFolder } = environment;
  const read = createBenchmarkRowReader({
    hub: {
      cacheFolder: path.join(environment.dataFolder, 'cache'),
      ...(huggingFaceToken !== null && { token: huggingFaceToken }),
      ...(huggingFaceUrl !== null && { hubUrl: huggingFaceUrl }),
    },
    ...(benchmarkDataFolder !== null && { dataFolder: benchmarkDataFolder }),
  });
  return loadExamples(benchmark, read);
}

/** Questions are a publisher's text: nothing in them may steer the terminal. */
function printExample(output: Output, { id, messages, target }: Example): void {
  output.line();
  output.line(output.colors.bold(escapeControls(id)));
  for (const { role, content } of messages) {
    const text = typeof content === 'string' ? content : JSON.stringify(content);
    const shown =
      text.length > PROMPT_LENGTH ? `${text.slice(0, PROMPT_LENGTH)} … (${text.length} characters)` : text;
    for (const line of `${role}: ${shown}`.split('\n')) output.line(`  ${escapeControls(line)}`);
  }
  output.line(`  → ${escapeControls(target ?? '(no reference answer)')}`);
}
