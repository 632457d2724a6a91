import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import pino from 'pino';
import type { RunState } from '../../../src/core/run';
import { createServer } from '../../../src/server/create-server';
import type { ServerOptions } from '../../../src/server/create-server';
import type { RunStore } from '../../../src/stores/run-store';
import { createRunStore } from '../../../src/stores/run-store';

/** A server on a store of its own, without Temporal and without a training service unless they are given. */
export interface TestServer {
  readonly url: string;
  readonly store: RunStore;
  readonly specs: ReturnType<typeof createServer>['specs'];
  close(): Promise<void>;
}

type Changes = Partial<Pick<ServerOptions, 'guard' | 'logger'>> & {
  readonly gateway?: Partial<ServerOptions['gateway']>;
};

const NO_ENGINE: ServerOptions['gateway']['engine'] = {
  defaultUrl: () => null,
  fixedUrl: null,
  tokenizerOf: () => Promise.reject(new Error('no tokenizer here')),
};

export async function startServer(changes: Changes = {}): Promise<TestServer> {
  const folder = mkdtempSync(path.join(tmpdir(), 'everstep-serve-'));
  const store = createRunStore(folder);
  const server = createServer({
    guard: { token: null, hosts: [] },
    runs: { records: store, findTemporal: () => null },
    logger: pino({ level: 'silent' }),
    ...changes,
    gateway: { records: store, engine: NO_ENGINE, ...changes.gateway },
  });
  const url = await server.app.listen({ port: 0, host: '127.0.0.1' });
  return {
    url,
    store,
    specs: server.specs,
    async close() {
      await server.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

export function stateOf(run: string, more: Partial<RunState> = {}): RunState {
  return {
    run,
    kind: 'sft',
    model: 'everstep/tiny',
    status: 'running',
    step: 0,
    totalSteps: 10,
    startedAt: '2026-01-02T03:04:05.000Z',
    closedAt: null,
    workflowId: `train/${run}`,
    engine: 'http://127.0.0.1:1',
    lineage: 0,
    rewinds: 0,
    stepsReplayed: 0,
    finalWeightsDigest: null,
    ...more,
  };
}

/** A run as its workflow leaves it, with some steps and a score. */
export async function writeRun(store: RunStore, run: string, more: Partial<RunState> = {}): Promise<void> {
  await store.claim(run, { workflowId: `train/${run}`, firstRunId: `first-${run}` });
  await store.writeConfig(run, { run, config: { model: 'everstep/tiny', engine: {} }, renderer: 'everstep' });
  await store.writeState(run, stateOf(run, more));
}

export interface HeardEvent {
  readonly id: string | null;
  readonly event: string;
  readonly data: string;
}

/** Reads server-sent events as the standard says: fields by line, an event at each empty line, comments passed over. */
export async function* readEvents(body: ReadableStream<Uint8Array>): AsyncGenerator<HeardEvent> {
  let lines: string[] = [];
  for await (const line of readLines(body)) {
    if (line !== '') lines.push(line);
    else {
      const event = eventOf(lines);
      lines = [];
      if (event) yield event;
    }
  }
  if (lines.length > 0) throw new Error('the stream broke off within an event');
}

async function* readLines(body: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  let rest = '';
  for await (const bytes of body) {
    const lines = (rest + decoder.decode(bytes, { stream: true })).split('\n');
    rest = lines.pop() ?? '';
    yield* lines;
  }
  if (rest !== '') throw new Error('the stream broke off within a line');
}

/** null where there are only comments. */
function eventOf(lines: readonly string[]): HeardEvent | null {
  const fields = lines
    .filter((line) => !line.startsWith(':'))
    .map((line) => /^(id|event|data): (.*)$/.exec(line));
  if (fields.includes(null)) throw new Error(`not lines of an event stream: ${lines.join(' | ')}`);
  const valuesOf = (name: string) =>
    fields.filter((field) => field?.[1] === name).map((field) => field?.[2] ?? '');
  if (valuesOf('data').length === 0) return null;
  return {
    id: valuesOf('id')[0] ?? null,
    event: valuesOf('event')[0] ?? 'message',
    data: valuesOf('data').join('\n'),
  };
}
