import { RUN_STATUSES } from '../core/run';
import type { RunState } from '../core/run';
import { DomainError } from '../core/errors';
import { parseJsonObject } from './json-lines';
import { readWholeFile } from './reading';

/** A run of the store whose state cannot be shown. */
export interface UnreadableState {
  readonly run: string;
  readonly file: string;
  /** What is wrong with the file. */
  readonly reason: string;
}

const TEXTS = ['run', 'kind', 'model', 'startedAt', 'workflowId', 'engine'] as const;
const COUNTS = ['step', 'totalSteps', 'lineage', 'rewinds', 'stepsReplayed'] as const;
const TEXTS_OR_NONE = ['closedAt', 'finalWeightsDigest', 'reason'] as const;

/** null where there is none, or none that can be shown. Throws what the disk says. */
export async function readState(file: string, run: string): Promise<RunState | null> {
  try {
    const state = parseJsonObject<RunState>((await readWholeFile(file)) ?? '');
    return state !== null && stateFlaw(state, run) === null ? completed(state) : null;
  } catch (error) {
    if (error instanceof DomainError) return null;
    throw error;
  }
}

interface FoundState {
  readonly state: RunState | null;
  readonly unreadable: UnreadableState | null;
}

/** The same with what is wrong with it, also where that is the disk. Neither where there is none. */
export async function lookAtState(file: string, run: string): Promise<FoundState> {
  const refuse = (reason: string) => ({ state: null, unreadable: { run, file, reason } });
  try {
    const text = await readWholeFile(file);
    if (text === null) return { state: null, unreadable: null };
    const state = parseJsonObject<RunState>(text);
    if (state === null) return refuse('it holds no JSON object');
    const flaw = stateFlaw(state, run);
    return flaw === null ? { state: completed(state), unreadable: null } : refuse(flaw);
  } catch (error) {
    return refuse(error instanceof Error ? error.message : String(error));
  }
}

/** Where nothing stands of its end, it has none. */
function completed(state: RunState): RunState {
  const none = { closedAt: null, finalWeightsDigest: null };
  return { ...none, ...state };
}

/** Why what lies in a `state.json` cannot be shown and sorted; null where it can. Files can be copied, edited and damaged. */
function stateFlaw(state: RunState, run: string): string | null {
  const wrong = wrongField(state);
  if (wrong !== null) return `"${wrong}" is not what it has to be`;
  if (state.run === run) return null;
  return `it is the state of another run, ${JSON.stringify(state.run)}: where the folder was renamed, give it that name back`;
}

/** The first field of another type than its own. */
function wrongField(state: RunState): keyof RunState | null {
  const { status, remarks = [] } = state;
  return (
    TEXTS.find((key) => typeof state[key] !== 'string') ??
    COUNTS.find((key) => !Number.isSafeInteger(state[key]) || state[key] < 0) ??
    TEXTS_OR_NONE.find((key) => typeof (state[key] ?? '') !== 'string') ??
    (RUN_STATUSES.includes(status) ? null : 'status') ??
    (Array.isArray(remarks) && remarks.every((remark) => typeof remark === 'string') ? null : 'remarks')
  );
}
