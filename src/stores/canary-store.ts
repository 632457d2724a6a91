import { join } from 'node:path';
import type { CanaryReport, WebhookTry } from '../core/canary';
import { canaryFolder } from '../core/canary';
import { DomainError } from '../core/errors';
import { validateName } from '../core/names';
import { isFiring, isWebhookTry, pinFault } from './canary-types';
import type { StoredPin } from './canary-types';
import { openJournal } from './fenced-journal';
import { readJsonLines } from './json-lines';
import { readJson, writeJson } from './whole-file';

/**
 * What the firings of a schedule came to.
 *
 * ```
 * <store>/schedules/<name>/
 *   firings.jsonl   a row a firing
 *   alarms.jsonl    those that alarm
 *   webhooks.jsonl  a row a try to tell an alarm's webhook
 *   pin.json        the firing that others are held against
 * ```
 */
export interface CanaryStore {
  readonly folder: string;
  /** `store-conflict`: what lies there is none. */
  readPin(): Promise<StoredPin | null>;
  writePin(pin: StoredPin): Promise<void>;
  /** Oldest first, without rows that are none. */
  readFirings(): Promise<CanaryReport[]>;
  readAlarms(): Promise<CanaryReport[]>;
  /** Writes a firing once, however often it is called. A later firing's epoch outranks an earlier one's. */
  record(report: CanaryReport, epoch: number): Promise<void>;
  readWebhookTries(): Promise<WebhookTry[]>;
  recordWebhookTry(row: WebhookTry, epoch: number): Promise<void>;
}

export function createCanaryStore(store: string, name: string): CanaryStore {
  return new FolderCanaryStore(canaryFolder({ store, name: validateName('Schedule', name) }));
}

class FolderCanaryStore implements CanaryStore {
  constructor(readonly folder: string) {}

  async readPin(): Promise<StoredPin | null> {
    const path = join(this.folder, 'pin.json');
    const pin = await readJson<StoredPin>(path);
    const fault = pin && pinFault(pin);
    if (fault === null) return pin;
    throw new DomainError(
      'store-conflict',
      `${JSON.stringify(path)} is damaged: ${fault}. Put it back from a copy, or move it away and pin a firing anew.`,
    );
  }

  async writePin(pin: StoredPin): Promise<void> {
    await writeJson(join(this.folder, 'pin.json'), pin);
  }

  readFirings(): Promise<CanaryReport[]> {
    return this.read('firings');
  }

  readAlarms(): Promise<CanaryReport[]> {
    return this.read('alarms');
  }

  async record(report: CanaryReport, epoch: number): Promise<void> {
    await this.append('firings', report, epoch);
    if (report.alarm) await this.append('alarms', report, epoch);
  }

  async readWebhookTries(): Promise<WebhookTry[]> {
    const rows = await readJsonLines<WebhookTry>(join(this.folder, 'webhooks.jsonl'));
    return rows.filter(isWebhookTry);
  }

  async recordWebhookTry(row: WebhookTry, epoch: number): Promise<void> {
    const path = join(this.folder, 'webhooks.jsonl');
    const keyOf = ({ evalRun, attempt }: WebhookTry) => `${evalRun}/${attempt}`;
    const journal = await openJournal<WebhookTry>({ path, epoch, keyOf });
    journal.append(row);
    await journal.close();
  }

  private async read(name: 'firings' | 'alarms'): Promise<CanaryReport[]> {
    const rows = await readJsonLines<CanaryReport>(join(this.folder, `${name}.jsonl`));
    return rows.filter(isFiring).sort((left, right) => left.at.localeCompare(right.at));
  }

  private async append(name: 'firings' | 'alarms', report: CanaryReport, epoch: number): Promise<void> {
    const path = join(this.folder, `${name}.jsonl`);
    const journal = await openJournal<CanaryReport>({ path, epoch, keyOf: ({ evalRun }) => evalRun });
    journal.append(report);
    await journal.close();
  }
}
