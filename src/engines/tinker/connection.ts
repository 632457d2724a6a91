import type { Logger } from 'pino';
import { DomainError } from '../../core/errors';
import type { Authorization } from './authorization';
import { createAuthorization } from './authorization';
import type { JsonObject } from './codec/json-values';
import { failureOf } from './failures';
import { loadClientConfig, loadSupportedModels, SERVER } from './introduction';
import type { ServerProfile, SupportedModel } from './profile';
import { profileFrom } from './profile';
import type { CallOptions, ProtocolCall } from './protocol-call';
import { httpCall, jsonOf } from './protocol-call';
import { orAborted, remember } from './shared-work';
import type { HttpReply, Transport, TransportOptions } from './transport';
import { createTransport } from './transport';
import type { OnWait, WaitReport } from './waiting';
import { createWaitReport } from './waiting';

export interface ConnectionOptions {
  readonly baseUrl: string;
  readonly apiKey?: string | undefined;
  /** What is known about the server already; the rest is probed. */
  readonly profile?: Partial<ServerProfile> | undefined;
  readonly logger?: Logger | undefined;
  /** Told whenever the client begins to wait for the server, and null when it no longer does. */
  readonly onWait?: OnWait | undefined;
  /** How long a call goes on while nothing but failures come back. Default one minute. */
  readonly unreachableAfterMs?: number;
  /** The first delay between attempts, which then doubles. Default half a second. */
  readonly retryDelayMs?: number;
}

export interface ProbeOptions extends CallOptions {
  /** Takes the limits of this model. */
  readonly baseModel?: string | undefined;
}

interface DownloadOptions extends CallOptions {
  readonly timeoutMs?: number;
  readonly mostBytes?: number;
}

/** One server: its address, key and profile, and requests to it. */
export interface Connection extends Requests {
  readonly baseUrl: URL;
  readonly waits: WaitReport;
  capabilities(options?: CallOptions): Promise<readonly SupportedModel[]>;
  profile(options?: CallOptions): Promise<ServerProfile>;
  probeProfile(options?: ProbeOptions): Promise<ServerProfile>;
  /** A file by its address, with the key only where it lies on this server. */
  download(url: URL, options?: DownloadOptions): Promise<HttpReply>;
  close(): Promise<void>;
}

interface Requests {
  /** Any answer that is not to be waited out. */
  send(call: ProtocolCall): Promise<HttpReply>;
  /** The JSON object a call is answered with; any other answer throws. */
  request(call: ProtocolCall): Promise<JsonObject>;
}

/** A token may end again on its way; a key that is good for nothing is refused when it is exchanged. */
const MOST_RENEWALS = 3;

export function createConnection(options: ConnectionOptions): Connection {
  const transportOptions = transportOptionsFrom(options);
  const { baseUrl, waits } = transportOptions;
  const transport = createTransport(transportOptions);
  const sendPlain = (call: ProtocolCall): Promise<HttpReply> =>
    transport.send(httpCall(call, options.apiKey));
  const config = remember(() => loadClientConfig(sendPlain));
  const authorization = createAuthorization({
    apiKey: options.apiKey,
    isExchanged: async () => (await config())['pjwt_auth_enabled'] === true,
    exchange: () => sendPlain({ route: 'auth/token', subject: SERVER, body: {} }),
  });
  const requests = createRequests(transport, authorization);

  async function probeProfile({ signal, baseModel }: ProbeOptions = {}): Promise<ServerProfile> {
    const evidence = {
      hostName: baseUrl.hostname,
      config: await orAborted(config(), signal),
      models: await loadSupportedModels(requests, signal),
      baseModel,
    };
    return { ...profileFrom(evidence), ...options.profile };
  }

  async function download(url: URL, { signal, ...limits }: DownloadOptions = {}): Promise<HttpReply> {
    const key = url.origin === baseUrl.origin ? await orAborted(authorization.key(), signal) : undefined;
    const files = createTransport({ ...transportOptions, baseUrl: new URL(url.origin) });
    const headers = key === undefined ? {} : { 'x-api-key': key };
    try {
      const path = url.pathname + url.search;
      return await files.send({ method: 'GET', path, headers, signal, ...limits });
    } finally {
      await files.close();
    }
  }

  const rememberedProfile = remember(() => probeProfile());
  return {
    ...requests,
    baseUrl,
    waits,
    capabilities: ({ signal } = {}) => loadSupportedModels(requests, signal),
    profile: ({ signal } = {}) => orAborted(rememberedProfile(), signal),
    probeProfile,
    download,
    close: () => transport.close(),
  };
}

function createRequests(transport: Transport, authorization: Authorization): Requests {
  async function send(call: ProtocolCall): Promise<HttpReply> {
    for (let renewalCount = 0; ; renewalCount++) {
      const key = await orAborted(authorization.key(), call.signal);
      const reply = await transport.send(httpCall(call, key));
      const mayRenew = reply.status === 401 && renewalCount < MOST_RENEWALS;
      if (!mayRenew || !authorization.renew(key)) return reply;
    }
  }

  return {
    send,
    async request(call) {
      const reply = await send(call);
      if (reply.status < 200 || reply.status > 299) throw failureOf(reply, call.subject);
      return reply.body.length === 0 ? {} : jsonOf(reply, call.subject);
    },
  };
}

function transportOptionsFrom(options: ConnectionOptions): TransportOptions {
  return {
    baseUrl: parseBaseUrl(options.baseUrl),
    logger: options.logger,
    waits: createWaitReport(options.onWait ?? (() => undefined)),
    unreachableAfterMs: options.unreachableAfterMs ?? 60_000,
    retryDelayMs: options.retryDelayMs ?? 500,
  };
}

function parseBaseUrl(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url?.protocol === 'http:' || url?.protocol === 'https:') return url;
  throw new DomainError(
    'bad-config',
    `Engine URL "${text}" is not an http or https address. Write it like http://127.0.0.1:8000.`,
  );
}
