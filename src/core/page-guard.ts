/**
 * Keeps web pages out of a server on this machine: whatever page is open in a browser here can send requests to it.
 *
 * A page cannot choose what the browser says of `Host` and `Origin`. A change from another site names that site as its origin. A
 * name that somebody's DNS points here (rebinding) makes a page and this server one site, and is known by the host: only names
 * that nobody else can own, and those that were told, are taken.
 */
export interface CallerHeaders {
  readonly host?: string | undefined;
  readonly origin?: string | undefined;
  /** Of a request without an origin, as of a picture or a script, browsers say here where it comes from. */
  readonly 'sec-fetch-site'?: string | string[] | undefined;
  readonly 'sec-fetch-mode'?: string | string[] | undefined;
}

/** On every answer: what a model wrote must never become a page, whatever it looks like, nor stand in one. */
export const NO_PAGE: Readonly<Record<string, string>> = {
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
};

const IPV4 = /^\d{1,3}(\.\d{1,3}){3}$/;
/** 0.0.0.0, ::, and IPv4 as IPv6 lead to this machine too, and of what a page gets from there browsers say neither origin nor site. */
const OTHER_WAYS_HERE = /^(?:0\.|\[::\]|\[::ffff:)/;

/** From a page that is not this server's own. Following a link is the person's doing and not the page's. */
export function isFromOtherSite({ host, origin, ...headers }: CallerHeaders): boolean {
  if (origin === undefined) {
    const site = headers['sec-fetch-site'];
    return (site === 'cross-site' || site === 'same-site') && headers['sec-fetch-mode'] !== 'navigate';
  }
  return !URL.canParse(origin) || new URL(origin).host !== host?.toLowerCase();
}

/** Called by an address, by a name without a dot, which no domain is, or by one of `names`, which are in small letters. */
export function isCalledByKnownName({ host }: CallerHeaders, names: ReadonlySet<string>): boolean {
  const name = hostName(host);
  if (name === null) return false;
  if (names.has(name)) return true;
  if (OTHER_WAYS_HERE.test(name)) return false;
  return name.startsWith('[') || IPV4.test(name) || !name.includes('.');
}

/** Without the port. */
function hostName(host: string | undefined): string | null {
  return /^(\[[0-9a-f:]+\]|[^:[\]/@]+)(:\d+)?$/i.exec(host ?? '')?.[1]?.toLowerCase() ?? null;
}
