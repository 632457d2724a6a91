import { DomainError } from '../../core/errors';
import type { Sampler } from '../../core/sampling';
import type { Tokenizer } from '../../core/tokenizer';
import type { TinkerClient } from '../../engines/tinker/client';
import { createTinkerClient } from '../../engines/tinker/client';
import type { ServerProfile } from '../../engines/tinker/profile';
import { KNOWN_PROFILES } from '../../engines/tinker/profile';
import { findRenderer } from '../../renderers/find-renderer';
import { recommendedRendererFor } from '../../renderers/recommended-renderer';
import type { Renderer } from '../../renderers/renderer';
import { askBaseModel } from './ask-base-model';
import type { FoundWeights } from './find-weights';
import { namesFolder } from './model-name';

/** Weights that are ready to be sampled. */
export interface GatewayModel {
  readonly label: string;
  readonly sampler: Sampler;
  readonly tokenizer: Tokenizer;
  /** Made when a conversation is rendered, so that models without a renderer can still continue texts. */
  renderer(): Renderer;
  /** What ends a text by itself, as far as tokenizer and renderer tell. */
  readonly endTexts: () => readonly string[];
  /** Tokens read and written together; null where nobody knows. */
  readonly contextLength: number | null;
  /** Stop texts of the model's own are seen by the service, special tokens among them. */
  readonly stopsAtSpecialTexts: boolean;
  /** Fires when the service asks for money: waiting for it is no answer. */
  readonly unpaid: AbortSignal;
}

export interface EngineAccess {
  /** The service that is asked where a run names none; null while none is known. */
  readonly defaultUrl: () => string | null;
  /** Goes before what runs name, where a person gave it. */
  readonly fixedUrl: string | null;
  /** The key that the service at an address gets; default none. */
  readonly keyFor?: (url: string) => string | undefined;
  readonly tokenizerOf: (model: string) => Promise<Tokenizer>;
}

interface Opened {
  readonly opening: Promise<GatewayModel>;
  readonly close: () => Promise<void>;
  userCount: number;
  usedAt: number;
}

const MOST_IDLE = 16;
const LIMITS = new Set(['maxSequenceLength', 'maxChunkDatums', 'maxChunkBytes']);
const UNREACHABLE_AFTER_MS = 20_000;

/** Keeps what was opened for whoever asks for the same weights next; what was not used for longest is closed first. */
export class OpenedModels {
  private readonly opened = new Map<string, Opened>();

  constructor(private readonly access: EngineAccess) {}

  async use<Result>(weights: FoundWeights, work: (model: GatewayModel) => Promise<Result>): Promise<Result> {
    const url = this.urlOf(weights);
    const key = JSON.stringify([url, weights]);
    const entry = this.opened.get(key) ?? this.open(key, weights, url);
    entry.userCount += 1;
    try {
      return await work(await entry.opening);
    } finally {
      entry.userCount -= 1;
      entry.usedAt = performance.now();
      this.closeIdle();
    }
  }

  /** A client of the service for its models; the caller closes it. */
  connect(): TinkerClient | null {
    const url = this.access.fixedUrl ?? this.access.defaultUrl();
    return url === null ? null : createTinkerClient(this.clientOptions(url));
  }

  async close(): Promise<void> {
    const all = [...this.opened.values()];
    this.opened.clear();
    await Promise.all(all.map(({ close }) => close()));
  }

  private urlOf({ engineUrl }: FoundWeights): string {
    const url = this.access.fixedUrl ?? engineUrl ?? this.access.defaultUrl();
    if (url !== null) return url;
    throw new DomainError(
      'unreachable',
      'No training service is known. Start `npx everstep dev`, or start this server with --engine URL.',
    );
  }

  private open(key: string, weights: FoundWeights, url: string): Opened {
    const unpaid = new AbortController();
    const client = createTinkerClient({
      ...this.clientOptions(url),
      ...(weights.profile && { profile: habitsOf(weights.profile) }),
      onWait: (waiting) => {
        if (waiting?.what !== 'billing') return;
        this.opened.delete(key);
        unpaid.abort(paymentRequired(url));
        void client.close();
      },
    });
    const sampler = samplerOf(client, weights);
    const opening = this.describe({ client, sampler, weights, unpaid: unpaid.signal });
    const close = async () => {
      await opening.catch(() => null);
      // A session that cannot be ended ends by itself when nobody keeps it.
      await sampler.close().catch(() => undefined);
      await client.close();
    };
    const entry = { opening, close, userCount: 0, usedAt: 0 };
    this.opened.set(key, entry);
    opening.catch(() => {
      if (this.opened.get(key) === entry) this.opened.delete(key);
      void close().catch(() => undefined);
    });
    return entry;
  }

  private async describe({ client, sampler, weights, unpaid }: Parts): Promise<GatewayModel> {
    const baseModel =
      weights.baseModel ?? (await askBaseModel(this.clientOptions(client.baseUrl), weights.path ?? ''));
    if (weights.path === null) await requireModel(client, baseModel, unpaid);
    const [profile, tokenizer] = await Promise.all([
      client.probeProfile({ baseModel, signal: unpaid }),
      this.access.tokenizerOf(baseModel),
    ]);
    let made: Renderer | null = null;
    const renderer = () =>
      (made ??= findRenderer(
        weights.renderer ?? recommendedRendererFor(baseModel),
        tokenizer,
        weights.templateArguments,
      ));
    return {
      label: weights.label,
      ...{ sampler, tokenizer, renderer },
      endTexts: () => endTextsOf(tokenizer, renderer),
      contextLength: profile.maxSequenceLength,
      stopsAtSpecialTexts: profile.server === 'everstep',
      unpaid,
    };
  }

  private clientOptions(baseUrl: string) {
    const apiKey = this.access.keyFor?.(baseUrl);
    return {
      baseUrl,
      unreachableAfterMs: UNREACHABLE_AFTER_MS,
      ...(apiKey !== undefined && { apiKey }),
    };
  }

  /** Whoever was answered does not wait for a service that may be away. */
  private closeIdle(): void {
    const idle = [...this.opened].filter(([, { userCount }]) => userCount === 0);
    if (idle.length <= MOST_IDLE) return;
    const [oldest] = idle.sort(([, left], [, right]) => left.usedAt - right.usedAt);
    if (!oldest) return;
    this.opened.delete(oldest[0]);
    void oldest[1].close().catch(() => undefined);
  }
}

interface Parts {
  readonly client: TinkerClient;
  readonly sampler: Sampler;
  readonly weights: FoundWeights;
  readonly unpaid: AbortSignal;
}

/** A model without a renderer that fits has the end of text alone. */
function endTextsOf(tokenizer: Tokenizer, renderer: () => Renderer): string[] {
  const end = tokenizer.eosToken === null ? [] : [tokenizer.eosToken];
  try {
    const stops = renderer().stopSequences();
    return [...end, ...stops.map((stop) => (typeof stop === 'string' ? stop : tokenizer.decode([stop])))];
  } catch (error) {
    if (error instanceof DomainError) return end;
    throw error;
  }
}

/** A service that lists its models knows best; a name it does not list is not looked for on the hub. */
async function requireModel(client: TinkerClient, name: string, signal: AbortSignal): Promise<void> {
  const known = (await client.capabilities({ signal })).filter(({ isSampleable }) => isSampleable);
  if (known.length === 0 ? !namesFolder(name) : known.some((model) => model.name === name)) return;
  const names = known.slice(0, 20).map((model) => model.name);
  throw new DomainError(
    'unknown-model',
    `There is no run and no base model "${name.slice(0, 200)}". The training service has ${names.join(', ') || 'no list'}; GET /v1/models lists runs too.`,
  );
}

/** What a person said the service is; its limits are its own in any case. */
function habitsOf(name: NonNullable<FoundWeights['profile']>): Partial<ServerProfile> {
  const habits = Object.entries(KNOWN_PROFILES[name]).filter(([field]) => !LIMITS.has(field));
  return Object.fromEntries(habits);
}

function samplerOf(client: TinkerClient, { path, baseModel }: FoundWeights) {
  const source = path === null ? { baseModel: baseModel ?? '' } : { modelPath: path };
  return client.createSampler({ ...source, isCancelledWithSignal: true });
}

function paymentRequired(url: string): DomainError {
  return new DomainError(
    'payment-required',
    `The training service ${url} asks for payment (402): the balance of the account is used up. Add credit to it, then ask again.`,
  );
}
