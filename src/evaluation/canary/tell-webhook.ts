import { anySignal } from '../../core/concurrency/any-signal';
import type { CanaryReport, CanaryWebhook } from '../../core/canary';
import { alarmLines } from '../../core/canary';
import { isRefusedWebhookHeader, isWebhookVariable, refuseWebhookAddress } from '../../core/canary-webhook';
import { DomainError } from '../../core/errors';
import { escapeControls } from '../../core/escape-controls';

export interface WebhookMessage {
  readonly webhook: CanaryWebhook;
  readonly report: CanaryReport;
}

/** What a worker gives webhooks. */
export interface WebhookSecrets {
  /** The value of a variable of this process; undefined where it is not set. */
  readonly valueOf: (name: string) => string | undefined;
  /** Whether an address that somebody gave may have such values. */
  readonly mayHave: (address: string) => boolean;
}

const ANSWER_LIMIT_MS = 10_000;

/**
 * Posts an alarm. `text` is what chat services show; the rest is for programs.
 *
 * The answer is not read, and no redirect is followed: headers may be secret.
 */
export async function tellWebhook(
  { webhook, report }: WebhookMessage,
  secrets: WebhookSecrets,
  signal: AbortSignal,
): Promise<void> {
  const address = addressOf(webhook, secrets);
  const headers = headersOf(webhook, address, secrets);
  const limit = anySignal([signal, AbortSignal.timeout(ANSWER_LIMIT_MS)]);
  const response = await post(address, { headers, body: JSON.stringify(messageOf(report)), signal: limit });
  await response.body?.cancel();
  if (response.ok) return;
  const { status } = response;
  const redirected =
    status >= 300 && status < 400
      ? ': it sends elsewhere, which is not followed. Give the address that it leads to'
      : '';
  throw new DomainError(
    'request-failed',
    `The webhook at ${hostOf(address)} answered ${status}${redirected}.`,
    {
      retryable: status === 408 || status === 429 || status >= 500,
    },
  );
}

function messageOf(report: CanaryReport) {
  const lines = [`Canary ${report.schedule} alarms (${report.at}).`, ...alarmLines(report)];
  const text = lines.map(plainInChat).join('\n');
  return { text, type: 'everstep.canary.alarm', ...report };
}

const SIGNS: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;' };

/**
 * What an endpoint answered, or a model is called, stands in an alarm: in Slack's markup `<!channel>` would call everybody and
 * `<address|words>` be a link with words of its own. Slack has these three signs, and no others, escaped so.
 */
function plainInChat(line: string): string {
  return escapeControls(line).replaceAll(/[&<>]/g, (sign) => SIGNS[sign] ?? sign);
}

async function post(
  address: string,
  request: { readonly headers: Record<string, string>; readonly body: string; readonly signal: AbortSignal },
): Promise<Response> {
  try {
    return await fetch(address, { method: 'POST', redirect: 'manual', ...request });
  } catch {
    // What fetch says may hold the address, which may be secret.
    throw new DomainError('unreachable', `The webhook at ${hostOf(address)} does not answer.`, {
      retryable: true,
    });
  }
}

function addressOf({ url }: CanaryWebhook, secrets: WebhookSecrets): string {
  const address = url.type === 'address' ? url.value : valueIn(url.value, secrets);
  const problem = refuseWebhookAddress(address);
  if (problem === null) return address;
  throw new DomainError('bad-config', problem);
}

/** An address that is a variable's is the worker's own: it may have what others hold. */
function headersOf(
  { url, headers }: CanaryWebhook,
  address: string,
  secrets: WebhookSecrets,
): Record<string, string> {
  const given: Record<string, string> = { 'content-type': 'application/json' };
  const isTold = url.type === 'variable' || secrets.mayHave(address);
  for (const [name, variable] of Object.entries(headers)) {
    const value = valueIn(variable, secrets);
    if (!isTold) throw unTold(name, address);
    if (isRefusedWebhookHeader(name) || !SENDABLE.test(value)) throw unsendable(name, variable);
    given[name] = value;
  }
  return given;
}

/** Text of one line whose characters have a byte each. */
const SENDABLE = /^[\t\u0020-\u007e\u0080-\u00ff]*$/;

function unTold(name: string, address: string): DomainError {
  return new DomainError(
    'refused',
    `The webhook's header ${name.slice(0, 60)} is not sent to ${hostOf(address)}: this worker was not told that it may have its value. ` +
      "Give the command with the worker's --data-dir, or name the address in EVERSTEP_KEY_ADDRESSES where workers start.",
  );
}

function unsendable(name: string, variable: string): DomainError {
  return new DomainError(
    'bad-config',
    `The webhook's header ${name.slice(0, 60)} cannot be sent: it is the request's own, or ${variable} holds more than one line or characters that headers have not.`,
  );
}

/** A schedule may read no other variable of the worker, whoever made it. */
function valueIn(name: string, { valueOf }: WebhookSecrets): string {
  const value = isWebhookVariable(name) ? valueOf(name) : undefined;
  if (value !== undefined) return value;
  throw new DomainError(
    'bad-config',
    `${name} is not set where the workers run. Set it there, and start them anew.`,
  );
}

function hostOf(address: string): string {
  return new URL(address).host;
}
