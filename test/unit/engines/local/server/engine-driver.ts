import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import pino from 'pino';
import type { LocalEngine, LocalEngineOptions } from '../../../../../src/engines/local/engine';
import { startLocalEngine } from '../../../../../src/engines/local/engine';
import { BASE_MODEL, FakeRuntime } from './fake-runtime';

/** Every field that a test looks at; which ones are there depends on the answer. */
interface ReplyBody {
  readonly detail: string;
  readonly session_id: string;
  readonly request_id: string;
  readonly model_id: string;
  readonly sampling_session_id: string;
  readonly sample_sequence_ids: readonly string[];
  readonly path: string;
  readonly url: string;
  readonly expires: string;
  readonly category: string;
  readonly metrics: Readonly<Record<string, number>>;
  readonly loss_fn_outputs: readonly { readonly logprobs: { readonly data: readonly number[] } }[];
  readonly sequences: readonly { readonly tokens: readonly number[] }[];
  readonly prompt_logprobs: readonly (number | null)[] | null;
  readonly checkpoints: readonly { readonly checkpoint_id: string; readonly expires_at: string | null }[];
  readonly training_runs: readonly unknown[];
  readonly cursor: unknown;
}

export interface Reply {
  readonly status: number;
  readonly contentType: string;
  readonly body: ReplyBody;
  readonly bytes: Buffer;
}

/** A client of the wire without any cleverness. */
export class EngineDriver {
  /** `headers` go with every request. */
  constructor(
    readonly url: string,
    private readonly headers: Readonly<Record<string, string>> = {},
  ) {}

  async call(
    method: string,
    route: string,
    body?: unknown,
    headers: Record<string, string> = {},
  ): Promise<Reply> {
    const isRaw = typeof body === 'string' || body instanceof Uint8Array;
    const response = await fetch(`${this.url}${route.startsWith('/') ? route : `/api/v1/${route}`}`, {
      method,
      headers: {
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...this.headers,
        ...headers,
      },
      ...(body === undefined ? {} : { body: isRaw ? body : JSON.stringify(body) }),
    });
    const contentType = response.headers.get('content-type') ?? '';
    const bytes = Buffer.from(await response.arrayBuffer());
    const parsed = (contentType.includes('json') ? JSON.parse(bytes.toString()) : {}) as ReplyBody;
    return { status: response.status, contentType, body: parsed, bytes };
  }

  post(route: string, body: unknown, headers: Record<string, string> = {}): Promise<Reply> {
    return this.call('POST', route, body, headers);
  }

  get(route: string): Promise<Reply> {
    return this.call('GET', route);
  }

  async openSession(): Promise<string> {
    const { body } = await this.post('create_session', { tags: [], user_metadata: {}, sdk_version: 'test' });
    return body.session_id;
  }

  async createModel(sessionId: string, extra: object = {}): Promise<string> {
    const reply = await this.post('create_model', {
      session_id: sessionId,
      model_seq_id: 0,
      base_model: BASE_MODEL,
      lora_config: { rank: 4, seed: 1 },
      ...extra,
    });
    expect(reply).toMatchObject({ status: 200 });
    expect((await this.retrieve(reply.body.request_id)).body).toMatchObject({
      model_id: reply.body.model_id,
    });
    return reply.body.model_id;
  }

  retrieve(requestId: string, headers: Record<string, string> = {}): Promise<Reply> {
    return this.post('retrieve_future', { request_id: requestId, allow_metadata_only: true }, headers);
  }

  /** Submits and collects. */
  async finish(route: string, body: unknown): Promise<Reply> {
    const reply = await this.post(route, body);
    if (reply.status !== 200) return reply;
    return this.retrieve(reply.body.request_id);
  }

  train(modelId: string, sequence: number | undefined, token: number): Promise<Reply> {
    return this.post('forward_backward', forwardBackwardBody(modelId, sequence, token));
  }

  step(modelId: string, sequence: number, learningRate = 0.1): Promise<Reply> {
    return this.post('optim_step', {
      model_id: modelId,
      seq_id: sequence,
      adam_params: { learning_rate: learningRate },
    });
  }
}

/** Matchers as values of unknown type. */
export function containing(text: string): unknown {
  return expect.stringContaining(text);
}

export function anyOf(type: NumberConstructor | StringConstructor): unknown {
  return expect.any(type);
}

export function forwardBackwardBody(modelId: string, sequence: number | undefined, token: number): object {
  return {
    model_id: modelId,
    seq_id: sequence,
    forward_backward_input: {
      data: [
        {
          model_input: { chunks: [{ type: 'encoded_text', tokens: [1, 2] }] },
          loss_fn_inputs: {
            target_tokens: { data: [token, token], dtype: 'int64', shape: [2] },
            weights: { data: [1, 1], dtype: 'float32', shape: [2] },
          },
        },
      ],
      loss_fn: 'cross_entropy',
    },
  };
}

/** An engine over a fake runtime and a folder of its own. */
export class TestEngine {
  driver = new EngineDriver('');
  runtime = new FakeRuntime();
  private engine: LocalEngine | null = null;

  constructor(
    private options: Partial<LocalEngineOptions>,
    readonly dataFolder: string,
  ) {}

  async start(): Promise<void> {
    this.runtime = new FakeRuntime();
    const engine = await startLocalEngine({
      port: 0,
      dataFolder: this.dataFolder,
      runtime: this.runtime,
      logger: pino({ enabled: false }),
      longPollMs: 2000,
      ...this.options,
    });
    this.engine = engine;
    this.driver = new EngineDriver(engine.url);
  }

  /** Another process over the same folder: models and sessions are gone. */
  async restart(changes: Partial<LocalEngineOptions> = {}): Promise<void> {
    this.options = { ...this.options, ...changes };
    await this.stop();
    await this.start();
  }

  async close(): Promise<void> {
    await this.stop();
    rmSync(this.dataFolder, { recursive: true, force: true });
  }

  private async stop(): Promise<void> {
    this.runtime.trainingGate.open();
    await this.engine?.close();
    await this.runtime.close();
  }
}

export async function startTestEngine(options: Partial<LocalEngineOptions> = {}): Promise<TestEngine> {
  const engine = new TestEngine(options, mkdtempSync(path.join(tmpdir(), 'everstep-engine-')));
  await engine.start();
  return engine;
}
