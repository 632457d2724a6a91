import type { Client, ScheduleDescription, ScheduleHandle } from '@temporalio/client';
import { ScheduleNotFoundError, ScheduleOverlapPolicy } from '@temporalio/client';
import { z } from 'zod';
import type { CanaryReport, CanaryRequest, WebhookOutcome } from '../core/canary';
import { alarmLines, webhookOutcomes } from '../core/canary';
import { DomainError } from '../core/errors';
import { askedDigest, pinnedScores } from '../evaluation/canary/judge-firing';
import type { CanaryStore } from '../stores/canary-store';
import { createCanaryStore } from '../stores/canary-store';
import type { StoredPin } from '../stores/canary-types';
import { loadResult } from '../stores/eval-store';
import { heldAgainstPin } from './schedule-check';
import type { ServerLink } from './server-link';

/** How a schedule stands on the server. */
export interface ScheduleState {
  readonly name: string;
  readonly cadence: string;
  readonly isPaused: boolean;
  readonly note: string | null;
  readonly nextAt: string | null;
  /** A firing is under way. */
  readonly isFiring: boolean;
  /** Firings left out because one was still under way. */
  readonly skippedCount: number;
  /** Firings that were due while the server was away, for longer than it makes up for. */
  readonly missedCount: number;
  readonly request: CanaryRequest;
}

/** What `check` found. */
export interface ScheduleCheck {
  readonly name: string;
  /** The newest firing; null before the first one ended. */
  readonly latest: CanaryReport | null;
  readonly isAlarming: boolean;
  readonly reason: string | null;
}

/** A server that answers late must not hold up what the store says. */
const LOOK_LIMIT_MS = 3000;

const Input = z.object({
  request: z.custom<CanaryRequest>((value) => typeof value === 'object' && value !== null),
});

/** One schedule, by its name, from any process. What its firings came to is in the store, also without a server. */
export class CanarySchedule {
  private readonly records: CanaryStore;

  constructor(
    readonly name: string,
    private readonly link: ServerLink,
    store: string,
  ) {
    this.records = createCanaryStore(store, name);
  }

  /** Its row files. */
  get folder(): string {
    return this.records.folder;
  }

  async state(): Promise<ScheduleState> {
    const description = await this.ask((handle) => handle.describe());
    const { state, info, memo, action } = description;
    const [next] = info.nextActionTimes;
    return {
      name: this.name,
      cadence: typeof memo?.['cadence'] === 'string' ? memo['cadence'] : '',
      isPaused: state.paused,
      note: state.note ?? null,
      nextAt: state.paused || !next ? null : next.toISOString(),
      isFiring: info.runningActions.length > 0,
      skippedCount: info.numActionsSkippedOverlap,
      missedCount: info.numActionsMissedCatchupWindow,
      request: requestIn(this.name, action),
    };
  }

  /** What its firings came to, oldest first. */
  firings(): Promise<CanaryReport[]> {
    return this.records.readFirings();
  }

  alarms(): Promise<CanaryReport[]> {
    return this.records.readAlarms();
  }

  /** What came of telling the webhook of its alarms, oldest first. */
  async webhooks(): Promise<WebhookOutcome[]> {
    return webhookOutcomes(await this.records.readWebhookTries());
  }

  /** The firing that others are held against; null where scores were given, or none is pinned yet. */
  pin(): Promise<StoredPin | null> {
    return this.records.readPin();
  }

  /** Holds later firings against this one: what moved was meant. Default the newest firing. */
  async pinFiring(at?: string): Promise<StoredPin> {
    const { request } = await this.state();
    const firings = await this.firings();
    const firing = at === undefined ? firings.at(-1) : firings.find((each) => each.at === at);
    if (!firing) throw this.unknownFiring(at, firings);
    if (request.pin.type === 'scores') {
      throw new DomainError(
        'refused',
        `Schedule "${this.name}" was made with --pin SCORE. Delete it, and create it with another score.`,
      );
    }
    const results = await Promise.all(request.benchmarks.map((name) => loadResult(firing.dir, name)));
    const found = results.filter((result) => result !== null);
    if (found.length < results.length) {
      throw new DomainError(
        'refused',
        `The firing of ${firing.at} has not scored every benchmark. Choose another.`,
      );
    }
    const { evalRun, dir } = firing;
    const asked = askedDigest(request);
    const pin: StoredPin = { at: firing.at, evalRun, dir, asked, scores: pinnedScores(found) };
    await this.records.writePin(pin);
    return pin;
  }

  /** Whether the newest firing alarms by the pin now in force, or is older than it should be. */
  async check({
    maxAgeSeconds,
    now = new Date(),
  }: { maxAgeSeconds?: number; now?: Date } = {}): Promise<ScheduleCheck> {
    const latest = await this.latest();
    const reasons = [
      ...(latest?.alarm ? alarmLines(latest) : []),
      ...(maxAgeSeconds === undefined ? [] : ageReasons(latest, { maxAgeSeconds, now })),
    ];
    const reason = reasons.length === 0 ? null : reasons.join('; ');
    return { name: this.name, latest, isAlarming: reason !== null, reason };
  }

  /** The newest firing as it stands against the pin now in force; null before the first one ended. */
  async latest(): Promise<CanaryReport | null> {
    const [firings, pin] = await Promise.all([this.firings(), this.pin()]);
    const newest = firings.at(-1);
    if (!newest) return null;
    const isMoved = pin !== null && pin.evalRun !== newest.evalRun;
    return heldAgainstPin(newest, { pin, request: isMoved ? await this.requestWhereKnown() : null });
  }

  /** Null where no server answers, or it has the schedule no more. */
  private async requestWhereKnown(): Promise<CanaryRequest | null> {
    try {
      return (await this.link.find()) ? (await this.state()).request : null;
    } catch (error) {
      if (error instanceof DomainError) return null;
      throw error;
    }
  }

  /** That a server answers and has no such schedule: it was deleted, or never made there. */
  async isMissing(): Promise<boolean> {
    const client = await this.link.find();
    if (client === null) return false;
    try {
      const { schedule } = client;
      await client.withDeadline(Date.now() + LOOK_LIMIT_MS, () =>
        schedule.getHandle(`canary/${this.name}`).describe(),
      );
      return false;
    } catch (error) {
      return error instanceof ScheduleNotFoundError;
    }
  }

  async pause(note?: string): Promise<void> {
    await this.ask((handle) => handle.pause(note ?? 'paused with everstep'));
  }

  async resume(note?: string): Promise<void> {
    await this.ask((handle) => handle.unpause(note ?? 'resumed with everstep'));
  }

  /** Fires now, besides its times. While a firing is under way nothing more is started. */
  async trigger(): Promise<void> {
    const { isFiring } = await this.state();
    if (isFiring) {
      throw new DomainError(
        'refused',
        `Schedule "${this.name}" is firing now. Wait for its end: npx everstep schedule show ${this.name}`,
      );
    }
    await this.ask((handle) => handle.trigger(ScheduleOverlapPolicy.SKIP));
  }

  /** It fires no more. A firing under way goes on, and its results stay. */
  async delete(): Promise<void> {
    await this.ask((handle) => handle.delete());
  }

  private async ask<Answer>(question: (handle: ScheduleHandle) => Promise<Answer>): Promise<Answer> {
    const client: Client = await this.link.require();
    try {
      return await question(client.schedule.getHandle(`canary/${this.name}`));
    } catch (error) {
      if (error instanceof ScheduleNotFoundError) throw await unknownSchedule(this.name, client);
      throw error;
    }
  }

  private unknownFiring(at: string | undefined, firings: readonly CanaryReport[]): DomainError {
    const known =
      firings
        .slice(-5)
        .map((firing) => firing.at)
        .join(', ') || 'none yet';
    return new DomainError(
      'unknown-run',
      at === undefined
        ? `Schedule "${this.name}" has not fired yet. Fire it with: npx everstep schedule trigger ${this.name}`
        : `Schedule "${this.name}" has no firing of ${at.slice(0, 40)}. The newest: ${known}.`,
    );
  }
}

/** Silence is no good news. */
function ageReasons(
  latest: CanaryReport | null,
  { maxAgeSeconds, now }: { readonly maxAgeSeconds: number; readonly now: Date },
): string[] {
  if (latest === null) return ['it has not fired yet'];
  const ageSeconds = (now.getTime() - Date.parse(latest.at)) / 1000;
  return ageSeconds > maxAgeSeconds ? [`its newest firing is of ${latest.at}`] : [];
}

async function unknownSchedule(name: string, client: Client): Promise<DomainError> {
  const known: string[] = [];
  for await (const { scheduleId } of client.schedule.list()) {
    if (scheduleId.startsWith('canary/')) known.push(scheduleId.slice('canary/'.length));
  }
  return new DomainError(
    'unknown-run',
    `There is no schedule "${name}". Known: ${known.sort().slice(0, 20).join(', ') || 'none'}.`,
  );
}

function requestIn(name: string, action: ScheduleDescription['action']): CanaryRequest {
  const parsed = Input.safeParse(action.args?.[0]);
  if (parsed.success) return parsed.data.request;
  throw new DomainError(
    'bad-config',
    `Schedule "${name}" was not made by everstep. Delete it with Temporal's own tools.`,
  );
}
