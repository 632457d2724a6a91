import type { Client, ScheduleDescription, ScheduleHandle, ScheduleOptions } from '@temporalio/client';
import { ScheduleAlreadyRunning, ScheduleNotFoundError, ScheduleOverlapPolicy } from '@temporalio/client';
import { z } from 'zod';
import type { CanaryReport, CanaryRequest } from '../core/canary';
import { mapWithLimit } from '../core/concurrency/map-with-limit';
import { durationText } from '../core/duration';
import { DomainError } from '../core/errors';
import { isValidName } from '../core/names';
import { asSentence } from '../core/sentences';
import { TASK_QUEUES, WORKFLOW_TASK_TIMEOUT } from '../core/task-queues';
import { createCanaryStore } from '../stores/canary-store';
import { unlessNoFile } from '../stores/whole-file';
import type { CanaryInput } from '../workflows/canary-contracts';
import type { LookAtAddresses } from './check-endpoint';
import { addresseesOf } from './check-endpoint';
import type { RunRecords } from './run-records';
import type { CanaryOptions, CheckedCadence } from './schedule-request';
import { prepareSchedule, scheduleName } from './schedule-request';
import { CanarySchedule } from './schedule-handle';
import { heldAgainstPin } from './schedule-check';
import { ensureSearchAttributes } from './search-attributes';
import type { ServerLink } from './server-link';

/** What can be seen of a schedule without asking it. */
export interface ScheduleEntry {
  readonly name: string;
  /** `every 6h`, or the cron expression. */
  readonly cadence: string;
  readonly benchmarks: readonly string[];
  readonly model: string;
  readonly isPaused: boolean;
  /** null while it is paused. */
  readonly nextAt: string | null;
  /** The newest firing; null before the first one ended. */
  readonly latest: CanaryReport | null;
}

const PREFIX = 'canary/';
const Memo = z.object({ cadence: z.string(), benchmarks: z.array(z.string()), model: z.string() });
const CONCURRENT_QUESTIONS = 8;
const CRON_CATCH_UP = '1 hour';

/** How messages and lists call the model. */
export function modelLabel({ model }: Pick<CanaryRequest, 'model'>): string {
  return model.type === 'endpoint'
    ? `${model.model} at ${model.url}`
    : (model.label ?? model.path ?? model.model);
}

function cadenceText(cadence: CheckedCadence): string {
  if ('everySeconds' in cadence) return `every ${durationText(cadence.everySeconds)}`;
  return cadence.timezone === null ? cadence.cron : `${cadence.cron} (${cadence.timezone})`;
}

interface SchedulesPlace {
  readonly store: string;
  /** Lets workers use what a schedule names. */
  readonly allow?: (named: object) => void;
  readonly look?: LookAtAddresses;
}

/** Canary evaluations that the server starts by itself, whether anybody is there or not. */
export class CanarySchedules {
  constructor(
    private readonly link: ServerLink,
    private readonly records: RunRecords,
    private readonly place: SchedulesPlace,
  ) {}

  /** Refuses a name that is taken: delete that schedule first. Its results stay. */
  async create(name: string, options: CanaryOptions): Promise<CanarySchedule> {
    const { request, cadence } = await prepareSchedule(name, options, {
      records: this.records,
      store: this.place.store,
    });
    await this.place.look?.({
      addressees: addresseesOf(options),
      isBegun: () => Promise.resolve(false),
      undone: 'No schedule was made',
    });
    const client = await this.link.require();
    this.place.allow?.(options);
    const useSearchAttributes = await ensureSearchAttributes(client);
    try {
      const input = { request, ...(useSearchAttributes && { useSearchAttributes }) };
      const handle = await client.schedule.create(scheduleOf(input, cadence));
      await refuseNever(handle, cadence);
    } catch (error) {
      throw explain(error, request.name);
    }
    return this.get(request.name);
  }

  /** By name; whether there is one is found out by asking it. */
  get(name: string): CanarySchedule {
    return new CanarySchedule(scheduleName(name), this.link, this.place.store);
  }

  /** Ordered by name. One that was made in this moment may be missing; how the others stand is up to date. */
  async list(): Promise<ScheduleEntry[]> {
    const client = await this.link.require();
    const ids: string[] = [];
    for await (const { scheduleId } of client.schedule.list()) {
      // A namespace may be shared with schedules that were not made here.
      if (scheduleId.startsWith(PREFIX) && isValidName(scheduleId.slice(PREFIX.length))) ids.push(scheduleId);
    }
    const entries = await mapWithLimit(ids, CONCURRENT_QUESTIONS, (id) => this.entryOf(client, id));
    return entries
      .filter((entry) => entry !== null)
      .sort((left, right) => left.name.localeCompare(right.name));
  }

  /** What the server lists lags behind what it says when it is asked. null where it was deleted meanwhile. */
  private async entryOf(client: Client, id: string): Promise<ScheduleEntry | null> {
    const name = id.slice(PREFIX.length);
    const records = createCanaryStore(this.place.store, name);
    const [described, firings, pin] = await Promise.all([
      describe(client, id),
      records.readFirings(),
      // One schedule's damaged pin, which it says itself when it is shown, hides no other schedule.
      unlessNoFile(records.readPin(), null),
    ]);
    if (!described) return null;
    const { memo, state, info } = described;
    const known = Memo.safeParse(memo).data ?? { cadence: '', benchmarks: [], model: '' };
    const [next] = info.nextActionTimes;
    const newest = firings.at(-1);
    return {
      name,
      ...known,
      isPaused: state.paused,
      nextAt: state.paused || !next ? null : next.toISOString(),
      latest: newest ? await heldAgainstPin(newest, { pin, request: null }) : null,
    };
  }
}

/** The server alone knows what an expression comes to; one of no date at all (30 February) would stand there for ever. */
async function refuseNever(handle: ScheduleHandle, cadence: CheckedCadence): Promise<void> {
  if (!('cron' in cadence)) return;
  const { info } = await handle.describe();
  if (info.nextActionTimes.length > 0) return;
  await handle.delete();
  throw new DomainError('bad-config', `--cron "${cadence.cron}" never comes. Correct its day and month.`);
}

async function describe(client: Client, id: string): Promise<ScheduleDescription | null> {
  try {
    return await client.schedule.getHandle(id).describe();
  } catch (error) {
    if (error instanceof ScheduleNotFoundError) return null;
    throw error;
  }
}

/**
 * A firing that is due while one goes on is left out, and of those that were due while the server was away, one is caught up.
 * A firing that fails leaves the schedule as it is: the next one may find the endpoint again.
 */
function scheduleOf(input: CanaryInput, cadence: CheckedCadence): ScheduleOptions {
  const { request } = input;
  const isInterval = 'everySeconds' in cadence;
  return {
    scheduleId: `${PREFIX}${request.name}`,
    spec: isInterval
      ? { intervals: [{ every: cadence.everySeconds * 1000 }] }
      : {
          cronExpressions: [cadence.cron],
          ...(cadence.timezone !== null && { timezone: cadence.timezone }),
        },
    action: {
      type: 'startWorkflow',
      workflowType: 'canary',
      workflowId: `canary/${request.name}`,
      taskQueue: TASK_QUEUES.workflows,
      workflowTaskTimeout: WORKFLOW_TASK_TIMEOUT,
      args: [input],
    },
    policies: {
      overlap: ScheduleOverlapPolicy.SKIP,
      catchupWindow: isInterval ? Math.max(10, cadence.everySeconds) * 1000 : CRON_CATCH_UP,
      pauseOnFailure: false,
    },
    memo: {
      cadence: cadenceText(cadence),
      benchmarks: [...request.benchmarks],
      model: modelLabel(request),
    } satisfies z.infer<typeof Memo>,
  };
}

function explain(error: unknown, name: string): unknown {
  if (error instanceof ScheduleAlreadyRunning) {
    return new DomainError(
      'run-exists',
      `There is a schedule "${name}". Choose another name, or take it away with \`npx everstep schedule delete ${name}\`.`,
    );
  }
  // The SDK tells what the server calls invalid as a TypeError, which names what is wrong with it.
  if (error instanceof Error && error.name === 'TypeError') {
    return new DomainError(
      'bad-config',
      `The server refuses the schedule "${name}": ${asSentence(error.message)} Correct --cron or --timezone.`,
      { cause: error },
    );
  }
  return error;
}
