import type { Client, WorkflowStartOptions } from '@temporalio/client';
import { WorkflowExecutionAlreadyStartedError } from '@temporalio/client';
import { readEnvironment } from '../config/environment';
import type { TrainingConfig } from '../config/training-config';
import { DomainError } from '../core/errors';
import { validateName } from '../core/names';
import { TASK_QUEUES, WORKFLOW_TASK_TIMEOUT } from '../core/task-queues';
import type { EarlierEnd } from '../core/timeline';
import type { TrainingInput } from '../workflows/contracts';
import { checkCheckpoints } from './check-checkpoints';
import { collectProvenance } from './provenance';
import { requireSameConfig } from './require-same-config';
import { requireSameData } from './require-same-data';
import { RunHandle } from './run-handle';
import type { RunSources } from './run-handle';
import { defaultRunName, nextFreeSuffix, nextName } from './run-names';
import type { RunReport } from './run-report';
import { isClosed } from './run-report';
import { ensureSearchAttributes, searchAttributesAtStart } from './search-attributes';
import type { RunMemo } from './workflow-answers';
import { workflowIdOf } from './workflow-answers';
import type { Known } from './known-options';
import { requireKnownOptions } from './known-options';

export interface StartOptions {
  /** Name of the run; default: kind, model and the next free number. */
  readonly run?: string;
  /** Where the name is taken, start a new run under the name with a number instead of refusing or attaching. */
  readonly forceNew?: boolean;
  /** Attach to a run of this name that is under way also where its config is another one; default is to refuse that. */
  readonly attach?: boolean;
  /** Base of the default name instead of kind and model. */
  readonly nameBase?: string;
  /** Folder of benchmark data that goes before the hub, which workers have to see; default EVERSTEP_DATA_DIR. */
  readonly dataFolder?: string;
  /** The command that was given, for the record. */
  readonly command?: readonly string[];
  /** Go on with a run whose workflow has ended, or is on no server any more, from what its folder holds. */
  readonly continues?: boolean;
  /** Events of its workflow's history after which the run goes on in a new execution; default 2000. */
  readonly maxHistoryEvents?: number;
}

const START_OPTIONS: Known<StartOptions> = {
  ...{ run: true, forceNew: true, attach: true, nameBase: true, dataFolder: true, command: true },
  ...{ continues: true, maxHistoryEvents: true },
};

export interface StartedRun {
  readonly handle: RunHandle;
  /** True where a run of this name was already under way: it goes on with the config it was started with. */
  readonly isAttached: boolean;
  /** What a person should know of a run that is gone on with. */
  readonly remarks?: readonly string[];
}

interface Start {
  readonly client: Client;
  readonly sources: RunSources;
  readonly config: TrainingConfig;
  readonly options: StartOptions;
  /** What ended the run's last workflow, where it goes on with one. */
  readonly endedBefore?: EarlierEnd;
}

/** The workflow of each kind of run. */
const WORKFLOWS = { sft: 'trainSupervised', rl: 'trainReinforcement' } as const;

/** How often a name that somebody else took in the same moment is replaced by the next one. */
const NAME_ATTEMPTS = 20;

/**
 * Start a run, or attach to the one of that name that is under way.
 *
 * A finished run is never touched: its name is refused, or with `forceNew` the next free one is taken.
 */
export async function startRun(
  sources: RunSources,
  config: TrainingConfig,
  options: StartOptions = {},
): Promise<StartedRun> {
  requireKnownOptions('train', options, START_OPTIONS);
  const client = await sources.link.require();
  const start = { client, sources, config, options };
  if (options.run === undefined) return startUnderFreeName(start);

  const run = validateName('Run', options.run);
  const handle = new RunHandle(run, sources);
  const report = await handle.find();
  if (!report || (await isForgotten(report, sources))) return startNamed(start, handle, report !== null);
  if (options.forceNew) return startUnderFreeName(start);
  return attachAsked(start, handle, report);
}

/** Who gives a config means that one, unless they say that they take the run as it is. */
async function attachAsked(
  { client, sources: { records }, config, options }: Start,
  handle: RunHandle,
  report: RunReport,
): Promise<StartedRun> {
  const attached = attach(handle, report);
  if (!options.attach) {
    await requireSameConfig({ records, client }, handle.name, config);
    await requireSameData(records, handle.name, config);
  }
  await takeOver(handle, report);
  return attached;
}

/** Attach to a run that is under way. It needs no config: the run knows its own. */
export async function resumeRun(sources: RunSources, run: string): Promise<StartedRun> {
  await sources.link.require();
  const handle = new RunHandle(validateName('Run', run), sources);
  const report = await handle.status();
  const attached = attach(handle, report);
  await takeOver(handle, report);
  return attached;
}

/** A run that was handed over goes on by itself; somebody who works on it again spares it the wait. */
async function takeOver(handle: RunHandle, { pause }: RunReport): Promise<void> {
  if (pause?.isHandOver !== true || pause.until === null) return;
  try {
    await handle.resume({ reason: 'somebody works on it again' });
  } catch (error) {
    // It has gone on meanwhile, or a budget keeps it.
    if (!(error instanceof DomainError)) throw error;
  }
}

function attach(handle: RunHandle, report: RunReport): StartedRun {
  if (isClosed(report)) throw alreadyEnded(report);
  if (report.source === 'store') throw cannotGoOn(report);
  return { handle, isAttached: true };
}

/** Refuses, before anything is started for it, a name whose run is known to have ended. */
export async function refuseEnded(sources: RunSources, run: string): Promise<void> {
  const state = await sources.records.readState(validateName('Run', run));
  if (state && isClosed(state)) throw alreadyEnded(state);
}

/**
 * A run that was deleted, or failed while it was prepared, has nothing in the store: its name is as good as new. In a store that this
 * process does not see it may lie all the same, and its workers then refuse the new one, since the folder has an owner.
 */
async function isForgotten(report: RunReport, { records }: RunSources): Promise<boolean> {
  return isClosed(report) && !(await records.exists(report.run));
}

async function startNamed(start: Start, handle: RunHandle, isRetry: boolean): Promise<StartedRun> {
  await checkCheckpoints(start.config, start.sources.records, handle.name);
  const policy = isRetry ? 'ALLOW_DUPLICATE' : 'REJECT_DUPLICATE';
  if (await tryStart(start, handle.name, policy))
    return { handle: accepted(handle, start), isAttached: false };
  return attachAsked(start, handle, await handle.status());
}

function accepted(handle: RunHandle, { config }: Start): RunHandle {
  return handle.noteAccepted({ kind: config.kind, model: config.model, engine: '' });
}

async function startUnderFreeName(start: Start): Promise<StartedRun> {
  const { records } = start.sources;
  await checkCheckpoints(start.config, records);
  const taken = (await records.listRuns()).map((state) => state.run);
  for (let attempt = 0; attempt < NAME_ATTEMPTS; attempt++) {
    const run = freeName(start, taken);
    // A folder that listRuns could not read is there all the same.
    const isTaken = await records.exists(run);
    if (!isTaken && (await tryStart(start, run, 'REJECT_DUPLICATE'))) {
      return { handle: accepted(new RunHandle(run, start.sources), start), isAttached: false };
    }
    taken.push(run);
  }
  throw new DomainError('run-exists', 'No free name was found for the run. Give one with --run NAME.');
}

function freeName({ config, options }: Start, taken: readonly string[]): string {
  if (options.run !== undefined) return nextFreeSuffix(options.run, taken);
  if (options.nameBase !== undefined) return nextName(options.nameBase, taken);
  return defaultRunName(config.kind, config.model, taken);
}

/** False when the server already has a workflow of that name. */
export async function tryStart(
  start: Start,
  run: string,
  workflowIdReusePolicy: NonNullable<WorkflowStartOptions['workflowIdReusePolicy']>,
): Promise<boolean> {
  const { client, config } = start;
  const useSearchAttributes = await ensureSearchAttributes(client);
  const input = await inputOf(start, run, useSearchAttributes);
  const memo: RunMemo = { kind: config.kind, model: config.model, engine: config.engine.url ?? 'local' };
  try {
    await client.workflow.start(WORKFLOWS[config.kind], {
      workflowId: workflowIdOf(run),
      taskQueue: TASK_QUEUES.workflows,
      args: [input],
      memo: { ...memo },
      workflowIdReusePolicy,
      workflowTaskTimeout: WORKFLOW_TASK_TIMEOUT,
      ...(useSearchAttributes && { typedSearchAttributes: searchAttributesAtStart(run, config) }),
    });
    return true;
  } catch (error) {
    if (error instanceof WorkflowExecutionAlreadyStartedError) return false;
    throw error;
  }
}

async function inputOf(
  { config, options, endedBefore }: Start,
  run: string,
  useSearchAttributes: boolean,
): Promise<TrainingInput> {
  const provenance = await collectProvenance(options.command ?? [], process.cwd());
  const { maxHistoryEvents, dataFolder = readEnvironment().benchmarkDataFolder } = options;
  return {
    ...{ run, config, useSearchAttributes, provenance },
    ...(dataFolder !== null && { dataFolder }),
    ...(maxHistoryEvents !== undefined && { maxHistoryEvents }),
    ...(options.continues && { continues: true }),
    ...(endedBefore && { endedBefore }),
  };
}

export function alreadyEnded(report: Pick<RunReport, 'run' | 'status' | 'step' | 'totalSteps'>): DomainError {
  const canGoOn = report.status === 'cancelled' || report.status === 'failed';
  const wayOn = canGoOn
    ? ` Go on from its last checkpoint with --run ${report.run} --continue (in a program, everstep.continue('${report.run}')).`
    : '';
  return new DomainError(
    'run-exists',
    `Run "${report.run}" has ended (${report.status} at step ${report.step} of ${report.totalSteps}).${wayOn} Choose another --run NAME, or --force-new (in a program, forceNew: true) to start "${report.run}-2" or the next free number.`,
  );
}

function cannotGoOn(report: RunReport): DomainError {
  return new DomainError(
    'run-exists',
    `Run "${report.run}" stands at step ${report.step} of ${report.totalSteps} and cannot go on. ${report.note ?? ''}`.trim(),
  );
}
