import { isWebhookVariable } from '../core/canary-webhook';

/** The value of an `EVERSTEP_WEBHOOK_…` variable; undefined where it is not set, and for every other name. */
export function webhookValue(name: string): string | undefined {
  return isWebhookVariable(name) ? process.env[name] : undefined;
}
