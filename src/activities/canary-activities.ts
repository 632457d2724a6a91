import { Context } from '@temporalio/activity';
import type { CanaryReport, CanaryRequest } from '../core/canary';
import type { FiringInput } from '../evaluation/canary/judge-firing';
import { judgeFiring } from '../evaluation/canary/judge-firing';
import type { WebhookDelivery } from '../evaluation/canary/recorded-webhook';
import { tellWebhookRecorded } from '../evaluation/canary/recorded-webhook';
import type { WebhookSecrets } from '../evaluation/canary/tell-webhook';
import { withHeartbeat } from './activity-context';

export interface CanaryDependencies {
  readonly webhookSecrets: WebhookSecrets;
  /** Refuses a schedule whose fields are of a wrong type or beyond what commands take. */
  readonly checkCanary: (request: CanaryRequest) => void;
}

/** Canaries, for workers with the role `sampling`: examples are compared where they were scored. */
export function createCanaryActivities({ webhookSecrets, checkCanary }: CanaryDependencies) {
  return {
    /** Writes a row a firing; repeated, the one that is there stays. */
    async judgeFiring(input: FiringInput): Promise<CanaryReport> {
      checkCanary(input.request);
      return withHeartbeat(({ attempt }) => judgeFiring(input, attempt));
    },

    /** May tell it twice, where the answer to the first time was lost: the message names the firing. */
    async tellWebhook(delivery: WebhookDelivery): Promise<void> {
      const { info, cancellationSignal: signal } = Context.current();
      await tellWebhookRecorded(delivery, { attempt: info.attempt, secrets: webhookSecrets, signal });
    },
  };
}

export type CanaryActivities = ReturnType<typeof createCanaryActivities>;
