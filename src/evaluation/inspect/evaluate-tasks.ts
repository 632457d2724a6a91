import { anySignal } from '../../core/concurrency/any-signal';
import type { InspectTask } from '../../core/benchmark-run';
import type { ResultIdentity } from '../../stores/eval-store';
import { promptFormatOf } from '../../renderers/template-arguments';
import { digestOf } from '../digest';
import type { EvaluationDependencies } from '../evaluators/evaluation-context';
import type { JournalledWork } from '../evaluators/journalled-work';
import { withJournal } from '../evaluators/journalled-work';
import type { NamedLog } from './log/log-metrics';
import { writeLogResults } from './log/write-log-results';
import type { InspectAccess } from './run/inspect-access';
import type { CallRow } from './run/journalled-sampler';
import { JournalledSampler } from './run/journalled-sampler';
import { packageVersionOf } from './run/package-version';
import { findInspectEnvironment } from './run/python-environment';
import type { SampleCount } from './run/inspect-process';
import type { InspectSettings } from './run/inspect-words';
import { runTask } from './run/run-tasks';
import type { AskedTask } from './task-name';
import { distinctTaskNames } from './task-name';
import { requireSameSource, withSource } from './task-source';

interface ResultPlace {
  readonly name: string;
  readonly folder: string;
  /** Default: what the task is asked with. */
  readonly identity?: ResultIdentity;
}

export interface TasksOptions {
  readonly site: Pick<EvaluationDependencies, 'sampler' | 'tokenizer' | 'renderer' | 'contextLength'>;
  readonly access: InspectAccess;
  readonly settings: InspectSettings;
  readonly model: { readonly name: string; readonly checkpoint: string; readonly identity: string };
  /** Its folder gets `journal/` and `inspect/`. */
  readonly place: JournalledWork & {
    /** Where the result of a task goes, by a name that no other task has. */
    readonly resultOf: (task: string) => ResultPlace;
  };
  readonly signal: AbortSignal;
  readonly onAnswer: (count: number) => void;
  /** Of the task that runs. */
  readonly onSamples?: (count: SampleCount) => void;
}

/**
 * Runs tasks of Inspect AI one after the other against the model, and writes what their logs say as results of our own.
 *
 * Repeated, it takes finished logs as they are. A task that was interrupted is run again from its beginning, and what the model
 * answered comes from the journal.
 */
export async function evaluateTasks(tasks: readonly AskedTask[], options: TasksOptions): Promise<NamedLog[]> {
  const asked = tasks.map(({ task, name }) => {
    requireSameSource(task);
    return { task: withSource(task), name };
  });
  const { site, access, model, place, signal, onAnswer } = options;
  await findInspectEnvironment(access.cacheFolder);
  return withJournal<CallRow, NamedLog[]>(place, 'calls', async (journal) => {
    const failing = new AbortController();
    const stop = anySignal([signal, failing.signal]);
    const sampler = new JournalledSampler({
      ...{ sampler: site.sampler, journal, identity: model.identity, signal: stop, onAnswer },
      onFailure: (error) => {
        failing.abort(error);
      },
    });
    const server = await access.serveModel({ ...site, name: model.name, sampler });
    try {
      const names = distinctTaskNames(asked);
      const served = { ...options, server, signal: stop };
      const verify = () => {
        journal.verify();
      };
      const logs: NamedLog[] = [];
      for (const [index, { task }] of asked.entries())
        logs.push(await evaluateTask({ task, name: names[index] ?? '' }, served, verify));
      return logs;
    } finally {
      failing.abort(new Error('the evaluation has ended'));
      await server.close();
    }
  });
}

type ServedOptions = TasksOptions & { readonly server: Awaited<ReturnType<InspectAccess['serveModel']>> };

async function evaluateTask(
  { task, name }: { readonly task: InspectTask; readonly name: string },
  { site, access, server, settings, model, place, signal, onSamples }: ServedOptions,
  verify: () => void,
): Promise<NamedLog> {
  const log = await runTask(task, {
    ...{ access, server, settings, signal, epoch: place.epoch },
    model: model.name,
    folder: `${place.folder}/inspect`,
    identity: model.identity,
    ...(onSamples && { onSamples }),
  });
  try {
    const where = place.resultOf(name);
    const version = await packageVersionOf(access.cacheFolder, task.task);
    const asked = { task, version, promptFormat: promptFormatOf(site.renderer) };
    const identity = identityOfTask(asked, settings, model);
    const { ci } = await writeLogResults(log, { identity, ...where, verify });
    return { name, header: log.header, ci };
  } finally {
    log.close();
  }
}

interface TaskFacts {
  readonly task: InspectTask;
  /** Of its package. */
  readonly version: string | null;
  /** How conversations become tokens: the name of the renderer. */
  readonly promptFormat: string;
}

/** Of a task that Inspect runs: its data are its own, and what it does is told by its code, or by the version of its package. */
export function identityOfTask(
  { task: asked, version, promptFormat }: TaskFacts,
  settings: InspectSettings,
  model: TasksOptions['model'],
): ResultIdentity {
  const { task, args, roles, source } = asked;
  const { temperature, maxTokens, topP, topK, seed, limit, epochs } = settings;
  return {
    benchmarkVersion: 1,
    dataHash: digestOf([task, args, limit ?? null, source ?? null]),
    promptHash: digestOf([promptFormat]),
    graderVersion: `inspect:${task}${version === null ? '' : ` ${version}`}`,
    sampling: {
      ...{ maxTokens, temperature, topP, numSamples: epochs ?? 1 },
      ...(topK !== undefined && { topK }),
      ...(seed !== undefined && { seed }),
    },
    model: model.name,
    checkpoint: model.checkpoint,
    ...(roles && { judges: [roles] }),
  };
}
