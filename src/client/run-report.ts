import type { Budget } from '../core/controls/budget';
import { largestOf } from '../core/extremes';
import type { LiveBudget, LivePause, LiveStatus, RunState, RunStatus } from '../core/run';
import type { SilentEvaluator } from './silent-evaluators';
import type { RunFailure, RunMemo, WorkflowFacts } from './workflow-answers';

/** Everything known of a run, from its workflow where that answers, else from the server and the store. */
export interface RunReport extends RunState {
  /** What the run waits for; null when it does not wait. */
  readonly waitingFor: LiveStatus['waitingFor'];
  /** What its evaluations and rollouts wait for while the run itself does not, e.g. `rollouts wait: judge …`; absent where nothing does. */
  readonly waits?: readonly string[];
  /** Evaluators at work that have said nothing new for two minutes, and may hang; absent where there are none. */
  readonly silentEvaluators?: readonly SilentEvaluator[];
  /** Due or under way, each of one evaluator on one step; null while no worker says, and the store alone cannot tell. */
  readonly pendingEvaluations: number | null;
  /** The step it ends after because somebody asked. */
  readonly stopAt: number | null;
  /** A pause somebody asked for, begun or not. */
  readonly pause: LivePause | null;
  /** Of a run with a pause: its state is saved, and the service holds no model for it. */
  readonly isLetGo?: boolean;
  /** Limits somebody set, and what is used of them. */
  readonly budget?: ToldBudget;
  /** Who said so: the running workflow, the server (the workflow is closed or has no worker), or the store. */
  readonly source: 'workflow' | 'server' | 'store';
  /** When something was heard of it last, in its files or by its workers; absent where its workflow answers, or it has ended. */
  readonly heardAt?: string | null;
  /** What a person should know before believing it, with the remedy. */
  readonly note: string | null;
  /** Set where the run was refused while it was prepared, which leaves nothing in the store. */
  readonly refusal: RunFailure | null;
}

const CLOSED: ReadonlySet<RunStatus> = new Set<RunStatus>(['completed', 'stopped', 'cancelled', 'failed']);

export function isClosed({ status }: Pick<RunState, 'status'>): boolean {
  return CLOSED.has(status);
}

/** `spent` is null while its workflow does not answer: the workflow alone knows what is under way. */
export type ToldBudget = Omit<LiveBudget, 'spent'> & { readonly spent: LiveBudget['spent'] | null };

export interface RunEvidence {
  readonly run: string;
  readonly workflowId: string;
  /** `state.json`. */
  readonly state: RunState | null;
  readonly live: LiveStatus | null;
  /** Null when no server answers. */
  readonly facts: WorkflowFacts | 'missing' | null;
  /** How the server is called in messages; null where none is known. */
  readonly server: string | null;
  /** What keeps it from answering, where that is seen. */
  readonly whyAway?: string | null;
  /** Why the workflow failed, where the store does not say. */
  readonly failure?: RunFailure | null;
  /** What a person does about workers that do not answer; null or absent: start one. */
  readonly workerRemedy?: string | null;
  /** When its files were last written; null or absent where nobody knows. */
  readonly writtenAt?: string | null;
  /** Why it stands still, by its store; null or absent where it does not. */
  readonly storedPause?: LivePause | null;
  /** What it waited for, by its store; null or absent where it did not. */
  readonly storedWait?: LiveStatus['waitingFor'];
  /** Limits that people set, by its store; null or absent where they set none. */
  readonly storedBudget?: Budget | null;
  /** What a server said before, or this process knows from starting the run; for one of which nothing else is known. */
  readonly knownBefore?: WorkflowFacts | null;
  readonly now: string;
}

/** Null when neither the store nor a server knows the run. */
export function reportRun(evidence: RunEvidence): RunReport | null {
  const { state, facts } = evidence;
  if (state && isClosed(state)) return { ...state, ...QUIET, source: 'store', note: null };
  if (facts === 'missing') return state && reportGone(state, evidence);
  if (facts) return reportKnown(facts, evidence);
  if (!state)
    return evidence.knownBefore ? reportAway(freshState(evidence, evidence.knownBefore), evidence) : null;
  return evidence.live ? reportLive(state, evidence.live) : reportAway(state, evidence);
}

/** The server has the workflow. */
function reportKnown(facts: WorkflowFacts, evidence: RunEvidence): RunReport {
  const { state, live } = evidence;
  const base = state ?? freshState(evidence, facts);
  if (!facts.isOpen) return reportClosed(base, facts, evidence);
  if (!live) return reportUnanswered(base, facts, evidence);
  const { waits, silentEvaluators = [] } = facts;
  return {
    ...reportLive(base, live),
    ...queued(live, facts),
    ...(waits.length > 0 && { waits }),
    ...(silentEvaluators.length > 0 && { silentEvaluators }),
  };
}

/** What the workflow cannot see: that work it handed out was taken by nobody yet. */
function queued({ status }: LiveStatus, { placeWait }: WorkflowFacts): Partial<RunReport> {
  return placeWait && status === 'running' ? { status: 'waiting', waitingFor: placeWait } : {};
}

const QUIET = { waitingFor: null, pendingEvaluations: 0, stopAt: null, pause: null, refusal: null };

function reportLive(base: RunState, live: LiveStatus): RunReport {
  const { status, step, waitingFor, pendingEvaluations, lineage, rewinds, stepsReplayed } = live;
  const totalSteps = live.totalSteps || base.totalSteps;
  return {
    ...base,
    ...{ status, step: Math.max(step, base.step), totalSteps, lineage, rewinds, stepsReplayed },
    ...{ waitingFor, pendingEvaluations, stopAt: live.stopAt ?? null, pause: live.pause ?? null },
    ...(live.isLetGo !== undefined && { isLetGo: live.isLetGo }),
    ...(live.budget && { budget: live.budget }),
    ...(live.remarks && { remarks: live.remarks }),
    source: 'workflow',
    note: null,
    refusal: null,
  };
}

/** Files younger than this were written by somebody who works on the run. */
export const FRESH_MS = 60_000;

function reportGone(state: RunState, evidence: RunEvidence): RunReport {
  const { server, workflowId, writtenAt, storedPause = null, storedBudget, now } = evidence;
  const age = writtenAt ? Date.parse(now) - Date.parse(writtenAt) : Infinity;
  const what = `The store has this run, but the Temporal server ${server ?? ''} has no workflow "${workflowId}": it belongs to another server`;
  return {
    ...state,
    ...QUIET,
    pause: storedPause,
    ...unspoken(storedBudget),
    source: 'store',
    heardAt: writtenAt ?? null,
    note:
      age < FRESH_MS
        ? `${what}, which works on it: its files were written ${Math.max(0, Math.round(age / 1000))} s ago. Give the --data-dir of its stack, or TEMPORAL_ADDRESS.`
        : `${what}, or to a database that is gone. Use the server it was started on; if that is gone for good, \`npx everstep train --run ${state.run} --continue\` goes on from the last checkpoint, and \`npx everstep recover\` does so with every run of the store.`,
  };
}

function reportClosed(
  base: RunState,
  facts: WorkflowFacts,
  { state, failure = null }: RunEvidence,
): RunReport {
  const reason =
    failure?.message ?? 'its workflow was closed on the server before it could write how it ended';
  return {
    ...base,
    ...QUIET,
    status: facts.status,
    closedAt: facts.closedAt,
    ...(facts.status !== 'completed' && { reason }),
    refusal: state === null ? failure : null,
    source: 'server',
    note: null,
  };
}

function reportUnanswered(base: RunState, heardOf: WorkflowFacts, evidence: RunEvidence): RunReport {
  const { server, workerRemedy, storedPause = null, storedBudget } = evidence;
  const heardAt = lastOf([heardOf.startedAt, heardOf.heardAt, evidence.writtenAt]) ?? heardOf.startedAt;
  const isResting = base.status === 'paused';
  return {
    ...base,
    status: isResting ? 'paused' : 'waiting',
    waitingFor: {
      what: heardOf.taskFailure == null ? 'a worker' : 'workers that can go on with it',
      since: heardAt,
    },
    heardAt,
    pendingEvaluations: null,
    stopAt: null,
    pause: storedPause,
    ...unspoken(storedBudget),
    refusal: null,
    source: 'server',
    note:
      heardOf.taskFailure == null
        ? `No worker answers for this run on the Temporal server ${server ?? ''}; ${isResting ? 'it is paused, and a change is made' : 'the run goes on from where it is'} when one does. ` +
          (workerRemedy ?? 'Start one with `npx everstep worker`.')
        : `Of this run, ${heardOf.taskFailure}. It goes on from where it is once that succeeds.`,
  };
}

/** Limits, of which nobody who could be asked knows what is used. */
function unspoken(limits: Budget | null | undefined): { readonly budget?: ToldBudget } {
  const isLimited = limits && [limits.tokens, limits.seconds, limits.dollars].some((limit) => limit !== null);
  return isLimited ? { budget: { limits, spent: null, warnings: [] } } : {};
}

/** ISO times; null where there is none. */
function lastOf(times: readonly (string | null | undefined)[]): string | null {
  const known = times.flatMap((time) => (time ? [Date.parse(time)] : []));
  return known.length > 0 ? new Date(largestOf(known)).toISOString() : null;
}

function reportAway(
  base: RunState,
  {
    server,
    whyAway = null,
    writtenAt = null,
    storedPause = null,
    storedWait = null,
    storedBudget,
  }: RunEvidence,
): RunReport {
  const away =
    server === null ? 'No Temporal server is running' : `The Temporal server ${server} does not answer`;
  const why = whyAway === null ? away : `${away}, and ${whyAway}; free some space`;
  return {
    ...base,
    ...QUIET,
    ...(storedWait && { status: 'waiting', waitingFor: storedWait }),
    pendingEvaluations: null,
    pause: storedPause,
    ...unspoken(storedBudget),
    source: 'store',
    heardAt: writtenAt,
    note: `${why}: this is how the store last saw the run${writtenAt === null ? '' : `, at ${writtenAt}`}. It goes on with \`npx everstep dev\` or \`npx everstep train --run ${base.run}\`.`,
  };
}

/** A run of which the store knows nothing: it is being prepared, or failed while it was. */
function freshState({ run, workflowId, live }: RunEvidence, facts: WorkflowFacts): RunState {
  const memo: RunMemo = facts.memo ?? { kind: 'sft', model: '', engine: '' };
  return {
    run,
    workflowId,
    ...memo,
    status: facts.status,
    step: live?.step ?? 0,
    totalSteps: live?.totalSteps ?? 0,
    startedAt: facts.startedAt,
    closedAt: facts.closedAt,
    lineage: 0,
    rewinds: 0,
    stepsReplayed: 0,
    finalWeightsDigest: null,
  };
}
