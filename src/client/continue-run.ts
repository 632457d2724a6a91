import type { Client } from '@temporalio/client';
import { DomainError } from '../core/errors';
import { validateName } from '../core/names';
import type { RunState } from '../core/run';
import type { EarlierEnd } from '../core/timeline';
import type { UnreadableState } from '../stores/run-state';
import { editedRecord, isEdited } from '../training/record-digest';
import type * as Standing from '../training/where-it-stands';
import type { RunRecord } from '../training/run-folder';
import { recordPath } from '../training/run-folder';
import { missingPluginRemarks } from './missing-plugins';
import { editsOf } from './require-same-config';
import { refuseAlive } from './refuse-alive';
import type { TakeOverOptions } from './refuse-alive';
import { pause } from './pause';
import { RunHandle } from './run-handle';
import type { RunSources } from './run-handle';
import type { RunRecords } from './run-records';
import { isClosed } from './run-report';
import type { StartedRun, StartOptions } from './start-run';
import { alreadyEnded, tryStart } from './start-run';
import { unknownRun, unreadableText } from './unknown-run';
import type { WorkflowFacts } from './workflow-answers';
import { describeRun, endingOf } from './workflow-answers';

const TAKE_OVER_LIMIT_MS = 60_000;
const POLL_MS = 200;

export type ContinueOptions = Pick<StartOptions, 'command'> & TakeOverOptions;

/** A run of the store that has not ended, and what can be done about it. */
export interface RecoverableRun {
  readonly run: string;
  readonly status: RunState['status'];
  /** The last one that is known to be done. */
  readonly step: number;
  readonly totalSteps: number;
  /** Step of the training state from which it goes on: its newest before which every evaluation has what it measures; null where it begins anew. */
  readonly checkpointStep: number | null;
  /**
   * `lost`: the server knows nothing of it; it is gone on with. `open`: it is under way there. `ended`: somebody ended its
   * workflow, so that going on is for a person to say.
   */
  readonly workflow: 'lost' | 'open' | 'ended';
  /** Why one that is lost here is not gone on with now; absent where it is. */
  readonly refusal?: string;
}

/**
 * Goes on with a run whose workflow ended before the run did, or is on no server any more, from what its folder holds.
 *
 * One that is under way is attached to. One that trained its last step, or was stopped, is refused: there is nothing to do.
 */
export async function continueRun(
  sources: RunSources,
  name: string,
  { isServerGone, ...options }: ContinueOptions = {},
): Promise<StartedRun> {
  const client = await sources.link.require();
  const run = validateName('Run', name);
  const state = await sources.records.readState(run);
  const handle = new RunHandle(run, sources);
  const facts = await describeRun(client, run);
  if (facts === null) throw unsaid(run);
  if (facts !== 'missing' && facts.isOpen) return { handle, isAttached: true };
  if (!state) throw await withoutFolder(run, facts === 'missing', sources);
  const heardAt = facts === 'missing' ? await refuseAlive(sources.records, state, { isServerGone }) : null;
  if (state.status === 'completed' || state.status === 'stopped') throw alreadyEnded(state);
  const { config, dataFolder } = await unedited(client, sources.records, run);
  const start = {
    ...{ client, sources, config },
    ...(await endOf(client, state, { facts, heardAt })),
    options: { ...options, continues: true, ...(dataFolder !== undefined && { dataFolder }) },
  };
  // False where somebody else went on with it in the same moment.
  const isStarted = await tryStart(start, run, 'ALLOW_DUPLICATE');
  await untilTakenOver(handle, sources, state);
  return { handle, isAttached: !isStarted, remarks: missingPluginRemarks(config.plugins) };
}

async function unedited(client: Client, records: RunRecords, run: string): Promise<RunRecord> {
  const record = await records.readConfig<RunRecord>(run);
  if (!isEdited(record)) return record;
  throw editedRecord(run, recordPath(records.runFolder(run)), await editsOf(client, run, record.config));
}

/** What ended the workflow of a run that could not write how it ended; nothing where it could. */
async function endOf(
  client: Client,
  state: RunState,
  { facts, heardAt }: { readonly facts: WorkflowFacts | 'missing'; readonly heardAt: string | null },
): Promise<{ readonly endedBefore?: EarlierEnd }> {
  const { run, startedAt } = state;
  if (isClosed(state)) return {};
  if (facts !== 'missing')
    return { endedBefore: { at: facts.closedAt ?? startedAt, text: await endingOf(client, run) } };
  const text = 'cut off: the Temporal server knows nothing of it any more; its files were last written then';
  return { endedBefore: { at: heardAt ?? startedAt, text } };
}

/** Until a worker has opened it again, the store says how it ended: nobody shall be told that of the run that goes on. */
async function untilTakenOver(
  handle: RunHandle,
  { link, records }: RunSources,
  before: RunState,
): Promise<void> {
  if (!isClosed(before)) return;
  const deadline = performance.now() + TAKE_OVER_LIMIT_MS;
  let waits: readonly string[] = [];
  while (performance.now() < deadline) {
    const state = await records.readState(handle.name);
    if (state === null || !isClosed(state)) return;
    const client = await link.require();
    const facts = await describeRun(client, handle.name);
    if (facts !== null && facts !== 'missing') {
      if (!facts.isOpen) return;
      ({ waits } = facts);
    }
    await pause(POLL_MS);
  }
  throw new DomainError('temporal-unavailable', notTakenOver(handle.name, waits));
}

/** A worker that has it may wait for the service. */
function notTakenOver(run: string, waits: readonly string[]): string {
  const follow = `\`npx everstep runs watch ${run}\` follows it.`;
  return waits.length > 0
    ? `Run "${run}" has not been taken up yet: ${waits.join('; ')}. It goes on by itself; ${follow}`
    : `No worker has taken up run "${run}" yet. It goes on when one does: \`npx everstep worker\` starts one, ${follow}`;
}

/** Every run of the store that has not ended, as the server knows it; oldest first. */
export async function findRecoverable(
  sources: RunSources,
  options: TakeOverOptions = {},
): Promise<readonly RecoverableRun[]> {
  const { link, records } = sources;
  const client = await link.require();
  const found: RecoverableRun[] = [];
  for (const state of await records.listRuns()) {
    const { run } = state;
    if (isClosed(state)) continue;
    const workflow = await standingOf(client, run);
    const { status, totalSteps } = state;
    const start = await startOf(run, records);
    const refusal = workflow === 'lost' ? ((await whyAlive(records, state, options)) ?? start.damage) : null;
    found.push({
      ...{ run, status, totalSteps, workflow, checkpointStep: start.step },
      step: await lastStep(state, sources),
      ...(refusal !== null && { refusal }),
    });
  }
  return found;
}

async function standingOf(client: Client, run: string): Promise<RecoverableRun['workflow']> {
  const facts = await describeRun(client, run);
  if (facts === null) throw unsaid(run);
  if (facts === 'missing') return 'lost';
  return facts.isOpen ? 'open' : 'ended';
}

/** The last step that its files tell of; what its state says, where others of them are damaged or no files. */
async function lastStep({ run, step }: RunState, sources: RunSources): Promise<number> {
  try {
    // The state is written now and then, the rows of steps with every step.
    const report = await new RunHandle(run, sources).find();
    return Math.max(step, report?.step ?? 0);
  } catch (error) {
    if (error instanceof DomainError) return step;
    throw error;
  }
}

/** Where a run goes on from. */
interface RunStart {
  readonly step: number | null;
  /** What of its files cannot be gone on with, in words. */
  readonly damage: string | null;
}

async function startOf(run: string, records: RunRecords): Promise<RunStart> {
  try {
    return { step: await startingStep(run, records), damage: null };
  } catch (error) {
    if (error instanceof DomainError) return { step: null, damage: error.message };
    throw error;
  }
}

/** What the store has of runs that nobody can tell whether they have ended, in words. */
export async function findUnreadableRuns({ records }: RunSources): Promise<readonly string[]> {
  const unreadable: UnreadableState[] = [];
  for await (const { run } of records.eachRun((found) => unreadable.push(found))) void run;
  return unreadable.map((found) => unreadableText(found));
}

/** By the same look as going on takes. */
async function whyAlive(
  records: RunRecords,
  state: RunState,
  options: TakeOverOptions,
): Promise<string | null> {
  try {
    await refuseAlive(records, state, options);
    return null;
  } catch (error) {
    if (error instanceof DomainError) return error.message;
    throw error;
  }
}

async function startingStep(run: string, records: RunRecords): Promise<number | null> {
  try {
    // Loaded where it is needed: it resolves gates, for which every benchmark is loaded.
    // oxlint-disable-next-line typescript/no-require-imports, typescript/consistent-type-assertions
    const { stepToContinueFrom } = require('../training/where-it-stands') as typeof Standing;
    return await stepToContinueFrom(records, run);
  } catch (error) {
    if (!(error instanceof DomainError)) throw error;
    // What its record lacks is said where somebody goes on with it.
    const rows = await records.readCheckpoints(run);
    return rows.findLast((row) => row.state_path !== null)?.step ?? null;
  }
}

async function withoutFolder(run: string, isUnknown: boolean, { records }: RunSources): Promise<DomainError> {
  if (isUnknown) return unknownRun(run, records);
  return new DomainError(
    'refused',
    `Run "${run}" ended before it was prepared, so that nothing was kept that could be gone on with. Its name is free: give the whole command again, \`npx everstep train CONFIG --run ${run}\`.`,
  );
}

/** Two workflows of one run would both write its folder. */
function unsaid(run: string): DomainError {
  return new DomainError(
    'temporal-unavailable',
    `The Temporal server did not say whether run "${run}" is under way on it. Nothing was begun for it; ask again.`,
  );
}
