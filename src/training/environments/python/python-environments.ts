import { createHash } from 'node:crypto';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { DomainError } from '../../../core/errors';
import { pythonQueue } from '../../../core/python';
import { readLineGroups } from '../../../stores/line-groups';
import { makeExampleId } from '../../../evaluation/example';
import type { PythonLink } from '../../../evaluation/python/python-link';
import { requireLink } from '../../../evaluation/python/python-link';
import type { EnvironmentBounds, EnvironmentDataset, EnvironmentGroup } from '../environment-dataset';
import { listedDataset, splitDataset } from '../listed-dataset';
import { problemOfTags } from '../../../core/metric-names';
import { PythonCalls } from './python-calls';
import { PythonEnvironment } from './python-environment';

export interface PythonEnvironmentOptions {
  /** Name the Python worker registers it under. */
  readonly environment: string;
  readonly options: Readonly<Record<string, unknown>>;
  readonly taskQueue?: string | undefined;
  readonly testSize: number;
  readonly limit?: number | undefined;
}

/** The way to Python workers, and the folder of the store where they leave what they read. */
export interface PythonAccess {
  readonly link: PythonLink;
  readonly folder: string;
}

/** A Python worker that is not there is told of, not waited for without end. */
const PATIENCE_MS = 15_000;

const Row = z.object({
  problem: z.unknown(),
  isTest: z.boolean().default(false),
  tags: z.array(z.string()).optional(),
});
type Row = z.infer<typeof Row>;

/** An environment of a Python worker. Its problems are read once a process, and travel back with each rollout. */
export async function pythonEnvironments(
  config: PythonEnvironmentOptions,
  access: PythonAccess | undefined,
): Promise<EnvironmentDataset> {
  const { environment, options, testSize, limit } = config;
  const link = requireLink(access?.link, `Environment "${environment}"`);
  const taskQueue = pythonQueue({ python: environment, taskQueue: config.taskQueue });
  const digest = createHash('sha256')
    .update(JSON.stringify([taskQueue, environment, options]))
    .digest('hex');
  // A process of its own, a file of its own: one that is read is not written again.
  const path = join(access?.folder ?? '', `problems-${digest.slice(0, 32)}-${process.pid}.jsonl`);
  const input = { environment, options, path };
  await link.ask({ activity: 'readProblems', taskQueue, input }, { patienceMs: PATIENCE_MS });
  const rows = await readRowsOf(path, environment);
  const calls = callsByWork({ link, environment, options, taskQueue });
  const groupOf = (row: Row) => groupOfRow(row, environment, calls);
  const trained = rows.filter(({ isTest }) => !isTest);
  const tested = rows.filter(({ isTest }) => isTest);
  if (tested.length === 0) return splitDataset(environment, trained, { groupOf, testSize, limit });
  const test = listedDataset(environment, tested, { groupOf, test: null });
  return listedDataset(environment, trained.slice(0, limit), { groupOf, test });
}

type CallsOf = (bounds: EnvironmentBounds | undefined) => PythonCalls;

/** What one piece of work asks is gathered, and never together with what another asks: that may be called off. */
function callsByWork(stage: ConstructorParameters<typeof PythonCalls>[0]): CallsOf {
  const known = new WeakMap<object, PythonCalls>();
  return (bounds) => {
    const { work, onWaiting } = bounds ?? {};
    if (work === undefined) return new PythonCalls(stage, onWaiting);
    const calls = known.get(work) ?? new PythonCalls(stage, onWaiting);
    known.set(work, calls);
    return calls;
  };
}

function groupOfRow({ problem, tags: given }: Row, environment: string, callsOf: CallsOf): EnvironmentGroup {
  const tags = given ?? [environment];
  const refusal = problemOfTags(tags);
  if (refusal !== null)
    throw new DomainError('bad-plugin', `environment: "${environment}" in Python: tags: ${refusal}.`);
  return {
    id: makeExampleId(environment, JSON.stringify(problem)),
    tags,
    hasHiddenTools: true,
    make(member, bounds) {
      const signal = bounds?.signal ?? new AbortController().signal;
      return new PythonEnvironment(callsOf(bounds), { problem, member }, signal);
    },
  };
}

async function readRowsOf(path: string, environment: string): Promise<Row[]> {
  try {
    const file = await open(path);
    const rows = [...readLineGroups(file.fd, path)].flat().map((line) => Row.parse(JSON.parse(line)));
    await file.close();
    return rows;
  } catch (error) {
    throw new DomainError(
      'bad-dataset',
      `environment: the problems of "${environment}" were not left by the Python worker in ${path}. ` +
        'Let it see the store, and use everstep_worker.py.',
      { cause: error },
    );
  }
}
