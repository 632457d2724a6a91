import { firingEpoch } from '../../core/canary';
import { createCanaryStore } from '../../stores/canary-store';
import type { WebhookMessage, WebhookSecrets } from './tell-webhook';
import { tellWebhook } from './tell-webhook';

export interface WebhookDelivery extends WebhookMessage {
  /** Where what comes of it is written down; absent in firings that began before there was such a place. */
  readonly store?: string;
}

interface DeliveryTry {
  readonly attempt: number;
  readonly secrets: WebhookSecrets;
  readonly signal: AbortSignal;
}

/** Posts an alarm, and leaves a row that says whether it was told, where people look at the schedule. */
export async function tellWebhookRecorded(
  { store, ...message }: WebhookDelivery,
  { attempt, secrets, signal }: DeliveryTry,
): Promise<void> {
  const { at, evalRun, schedule } = message.report;
  const record = async (reason: string | null) => {
    if (store === undefined) return;
    const row = { at, evalRun, attempt, told: reason === null, reason };
    await createCanaryStore(store, schedule).recordWebhookTry(row, firingEpoch(message.report, attempt));
  };
  try {
    await tellWebhook(message, secrets, signal);
  } catch (error) {
    // What was wrong with the receiver is said, whether or not a row of it can be kept.
    await record(error instanceof Error ? error.message : String(error)).catch(() => undefined);
    throw error;
  }
  // It was told: for a row that cannot be written it is not told again.
  await record(null).catch(() => undefined);
}
