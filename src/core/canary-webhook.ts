/** How long a firing goes on telling its webhook. */
export const WEBHOOK_MOST_SECONDS = 300;

/** Variables whose values may be sent: a schedule must not be a way to the other secrets of a worker. */
const VARIABLE = /^EVERSTEP_WEBHOOK_[A-Z0-9_]{1,64}$/;

export function isWebhookVariable(name: string): boolean {
  return VARIABLE.test(name);
}

/** Why an address is not taken; null where it is. The address is not repeated: it may be a secret. */
export function refuseWebhookAddress(address: string): string | null {
  const parsed = /^(https?):\/\/([^/?#]*)/i.exec(address);
  if (!parsed) return 'The webhook: give an http or https address.';
  const [, , host = ''] = parsed;
  if (host.includes('@'))
    return 'The webhook: its address holds a user or a password. Send them in a header (--webhook-header), whose value is stored nowhere.';
  if (host === '' || /\s/.test(address)) return 'The webhook: its address has no host, or has spaces.';
  return URL.canParse(address) ? null : 'The webhook: its address is none; look at its host and port.';
}

/** What the request itself says. */
const OWN_HEADERS = new Set([
  ...['host', 'content-length', 'content-type', 'transfer-encoding', 'connection', 'keep-alive', 'expect'],
  ...['upgrade', 'te', 'trailer'],
]);

/** Whether a header is the request's own, or is named with characters that none has. */
export function isRefusedWebhookHeader(name: string): boolean {
  return !/^[A-Za-z][A-Za-z0-9-]{0,63}$/.test(name) || OWN_HEADERS.has(name.toLowerCase());
}
