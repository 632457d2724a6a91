import { hash } from 'node:crypto';
import { basename } from 'node:path';
import type { EvaluatorConfig } from '../config/evaluation-config';
import { DomainError } from '../core/errors';
import { findBenchmark } from './benchmarks';
import type { Benchmark } from './benchmarks/benchmark';
import { givenDates, withinDates } from './benchmarks/date-window';
import { loadExamples } from './benchmarks/load-examples';
import { datasetOf } from './dataset-of';
import { digestOf } from './digest';
import type { CellWork, EvaluationDependencies } from './evaluators/evaluation-context';
import { identityOf } from './evaluators/evaluation-context';
import { readTaskFile } from './inspect/task-source';
import { judgeIdentity } from './judges/judged-grader';
import { findKind } from './kinds';
import type { PluginRegistry } from './plugins';
import type { StoredCell } from './stored-cell';

type AskedCell = CellWork & { readonly evaluator: EvaluatorConfig };

type Making = Pick<EvaluationDependencies, 'plugins' | 'rejudging' | 'loadDataset' | 'readBenchmarkRows'>;

/** Keys of evaluators that say how fast they ask, or where data lies that is told by its content. */
const DECIDES_NOTHING = new Set(['concurrency', 'agentConcurrency', 'maxConnections', 'dataset', 'tasks']);
/** `FILE.py@TASK`, as `tasks` of Inspect are written. */
const TASK_IN_FILE = /^(.+\.(?:py|ipynb))(@.*)?$/;

/**
 * Digest of what decides a cell's scores beside its weights: the evaluator, its data, the code that judges, and who judges again.
 * Data and files of tasks count by their content, wherever they lie. Reads them.
 */
export async function cellMaking(dependencies: Making, evaluator: EvaluatorConfig): Promise<string> {
  const { plugins, rejudging } = dependencies;
  const settings = Object.entries(evaluator).filter(([key]) => !DECIDES_NOTHING.has(key));
  return digestOf([
    Object.fromEntries(settings),
    await dataOf(dependencies, evaluator),
    codeOf(evaluator, plugins),
    rejudging?.judges.map(judgeIdentity) ?? null,
  ]);
}

/** A cell that somebody asks for by name is told as stored only where it is of the same weights, and made as it would be now. */
export function refuseOtherCell({ model, madeFrom, at }: StoredCell, asked: AskedCell, now: string): void {
  const what =
    identityOf(model) !== identityOf(asked.model)
      ? `of other weights (${model.path}, and ${asked.model.path} is asked for)`
      : madeFrom !== undefined && madeFrom !== now
        ? 'with another evaluator, data, plug-in file, grader or judge'
        : null;
  if (what === null) return;
  throw new DomainError(
    'refused',
    `${asked.name} in ${asked.folder} was scored ${what} at ${at}. Score it anew with another --run NAME or --output DIR.`,
  );
}

/** What is asked, by its content. */
async function dataOf(dependencies: Making, evaluator: EvaluatorConfig): Promise<unknown> {
  if ('dataset' in evaluator) {
    const { rows } = await dependencies.loadDataset(datasetOf(evaluator));
    return rows.map(({ id }) => id);
  }
  if (evaluator.type === 'benchmark') {
    const benchmark = datedBenchmark(evaluator, dependencies.plugins);
    const { examples } = await loadExamples(benchmark, dependencies.readBenchmarkRows);
    return examples.slice(0, evaluator.maxExamples);
  }
  return evaluator.type === 'inspect' ? evaluator.tasks.map(taskContent) : null;
}

type InspectTask = Extract<EvaluatorConfig, { type: 'inspect' }>['tasks'][number];

function taskContent(task: InspectTask): unknown {
  const { task: place, ...rest } = typeof task === 'string' ? { task } : task;
  const [, file, name = ''] = TASK_IN_FILE.exec(place) ?? [];
  if (file === undefined) return [place, rest];
  return [`${basename(file)}${name}`, hash('sha256', readTaskFile(file), 'hex'), rest];
}

function datedBenchmark(
  evaluator: Extract<EvaluatorConfig, { type: 'benchmark' }>,
  plugins: PluginRegistry,
): Benchmark {
  return withinDates(findBenchmark(evaluator.benchmark, plugins), givenDates(evaluator));
}

/** Versions of the code that an evaluator names; those of a plug-in hold the digest of its file. */
function codeOf(evaluator: EvaluatorConfig, plugins: PluginRegistry): unknown {
  switch (evaluator.type) {
    case 'benchmark': {
      const { version, grader } = datedBenchmark(evaluator, plugins);
      return [version, grader.version];
    }
    case 'kind': {
      const { version, codeHash } = findKind(evaluator.task, plugins, evaluator.options);
      return [version, codeHash ?? null];
    }
    case 'custom':
      return typeof evaluator.grader === 'string' ? plugins.hash : null;
    case 'plugin':
      return plugins.hash;
    default:
      return null;
  }
}
