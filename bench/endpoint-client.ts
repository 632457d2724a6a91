/**
 * What one request to an endpoint costs a client in CPU, by way of sending it.
 *
 *     npx jiti bench/endpoint-client.ts [--ways everstep,dispatch,request,node-http,fetch,openai,openai-light] [--in-flight 64,512]
 *         [--delay-ms 100] [--repeats 3]
 *
 * `everstep` is the product's completer, with all that belongs to it; the others send the same body and parse the answer.
 * `openai` is the package over the global fetch, `openai-light` over undici's `request`; both need
 * `npm install --no-save --no-package-lock openai@6`. Endpoint and client are processes of their own; the median of
 * repeats is printed, in ms of the whole client process a request after a warm-up.
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { Agent, request } from 'node:http';
import { createRequire } from 'node:module';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { Pool } from 'undici';
import { openEndpoint } from '../src/engines/openai/open-endpoint';
import { firstLine, JITI, stopChild } from './services';
import { median } from './work-items';

type Send = (index: number) => Promise<unknown>;

interface OpenAi {
  new (options: Record<string, unknown>): {
    readonly chat: { readonly completions: { create(body: object): Promise<unknown> } };
  };
}

interface Measured {
  readonly cpuMs: number;
  readonly rate: number;
}

const HEADERS = { 'content-type': 'application/json', authorization: 'Bearer key' };
const QUESTION =
  'Natalia sold clips to 48 of her friends in April, and then she sold half as many clips in May. How many clips did Natalia sell altogether in April and May? Think step by step and put the answer after ####.';

function bodyOf(index: number): object {
  return {
    model: 'canned',
    messages: [{ role: 'user', content: `${QUESTION} (${index})` }],
    max_tokens: 512,
    temperature: 0,
    top_p: 1,
  };
}

function sendBy(way: string, url: string, inFlight: number): Send {
  const pool = new Pool(new URL(url).origin, { connections: null });
  switch (way) {
    case 'everstep':
      return everstep(url, inFlight);
    case 'dispatch':
      return (index) => dispatch(pool, JSON.stringify(bodyOf(index)));
    case 'request':
      return async (index) => {
        const body = JSON.stringify(bodyOf(index));
        const response = await pool.request({
          method: 'POST',
          path: '/v1/chat/completions',
          headers: HEADERS,
          body,
        });
        return response.body.json();
      };
    case 'node-http':
      return nodeHttp(url);
    case 'fetch':
      return async (index) => {
        const body = JSON.stringify(bodyOf(index));
        return (await fetch(`${url}/chat/completions`, { method: 'POST', headers: HEADERS, body })).json();
      };
    case 'openai':
      return openai(url, {});
    case 'openai-light':
      return openai(url, { fetch: lightFetch(pool) });
    default:
      throw new Error(`Unknown way "${way}".`);
  }
}

function everstep(url: string, inFlight: number): Send {
  const completer = openEndpoint({ url, apiKey: 'key', model: 'canned', api: 'chat', concurrency: inFlight });
  return (index) =>
    completer.complete({
      messages: [{ role: 'user', content: `${QUESTION} (${index})` }],
      params: { maxTokens: 512, temperature: 0, topP: 1 },
    });
}

function dispatch(pool: Pool, body: string): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    pool.dispatch(
      { method: 'POST', path: '/v1/chat/completions', headers: HEADERS, body },
      {
        onRequestStart: () => undefined,
        onResponseStart: () => undefined,
        onResponseData: (_, chunk) => chunks.push(chunk),
        onResponseEnd: () => {
          resolve(JSON.parse(Buffer.concat(chunks).toString()));
        },
        onResponseError: (_, error) => {
          reject(error);
        },
      },
    );
  });
}

function nodeHttp(url: string): Send {
  const agent = new Agent({ keepAlive: true });
  return (index) =>
    new Promise((resolve, reject) => {
      const body = JSON.stringify(bodyOf(index));
      const headers = { ...HEADERS, 'content-length': Buffer.byteLength(body) };
      const sent = request(`${url}/chat/completions`, { method: 'POST', agent, headers }, (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('end', () => {
          resolve(JSON.parse(Buffer.concat(chunks).toString()));
        });
      });
      sent.on('error', reject);
      sent.end(body);
    });
}

function openai(url: string, options: Record<string, unknown>): Send {
  // Not imported: the package is there for this measurement only.
  const { OpenAI } = createRequire(__filename)('openai') as { OpenAI: OpenAi };
  const client = new OpenAI({ apiKey: 'key', baseURL: url, maxRetries: 0, ...options });
  return (index) => client.chat.completions.create(bodyOf(index));
}

/** As little of a fetch as the package needs. */
function lightFetch(pool: Pool) {
  return async (input: string, init: { method: string; headers: Headers; body: string }) => {
    const response = await pool.request({
      method: 'POST',
      path: new URL(input).pathname,
      headers: Object.fromEntries(init.headers),
      body: init.body,
    });
    const headers = new Headers();
    for (const [key, value] of Object.entries(response.headers)) headers.set(key, String(value));
    return {
      ok: response.statusCode < 300,
      status: response.statusCode,
      headers,
      url: input,
      json: () => response.body.json(),
      text: () => response.body.text(),
      body: response.body,
    };
  };
}

async function sendAll(send: Send, inFlight: number, count: number): Promise<void> {
  const indexes = Array.from({ length: count }, (_, index) => index).values();
  const drain = async (): Promise<void> => {
    for (const index of indexes) await send(index);
  };
  await Promise.all(Array.from({ length: inFlight }, drain));
}

/** In the process that is measured. */
async function measureHere(way: string, url: string, inFlight: number): Promise<void> {
  const send = sendBy(way, url, inFlight);
  const count = Math.max(inFlight * 10, 4_000);
  await sendAll(send, inFlight, Math.max(2_000, inFlight * 4));
  const [cpu, startedAt] = [process.cpuUsage(), performance.now()];
  await sendAll(send, inFlight, count);
  const { user, system } = process.cpuUsage(cpu);
  const rate = count / ((performance.now() - startedAt) / 1000);
  process.send?.({ cpuMs: (user + system) / 1000 / count, rate } satisfies Measured, () => process.exit(0));
}

async function measure(way: string, url: string, inFlight: number): Promise<Measured> {
  const child = fork(JITI, [__filename, '--measure', way, '--url', url, '--in-flight', String(inFlight)]);
  const exited = once(child, 'exit');
  const results: Measured[] = [];
  child.on('message', (message: Measured) => results.push(message));
  await exited;
  const [measured] = results;
  if (!measured) throw new Error(`The client "${way}" ended without a result.`);
  return measured;
}

interface Measurement {
  readonly way: string;
  readonly url: string;
  readonly inFlight: number;
  readonly repeats: number;
}

async function line({ way, url, inFlight, repeats }: Measurement): Promise<string> {
  const measured: Measured[] = [];
  for (let repeat = 0; repeat < repeats; repeat += 1) measured.push(await measure(way, url, inFlight));
  const cpuMs = median(measured.map((one) => one.cpuMs)).toFixed(3);
  const rate = median(measured.map((one) => one.rate)).toFixed(0);
  return `${way.padEnd(12)} ${inFlight} in flight  ${cpuMs} ms CPU a request  ${rate}/s`;
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      ways: { type: 'string', default: 'everstep,dispatch,request,node-http,fetch' },
      'in-flight': { type: 'string', default: '64,512' },
      'delay-ms': { type: 'string', default: '100' },
      repeats: { type: 'string', default: '3' },
      measure: { type: 'string' },
      url: { type: 'string', default: '' },
    },
  });
  if (values.measure !== undefined) {
    await measureHere(values.measure, values.url, Number(values['in-flight']));
    return;
  }
  const arguments_ = [path.join(__dirname, 'endpoint.ts'), '--delay-ms', values['delay-ms']];
  const endpoint = fork(JITI, arguments_, { silent: true });
  try {
    const url = (await firstLine(endpoint, 'http')).trim();
    for (const inFlight of values['in-flight'].split(',').map(Number)) {
      for (const way of values.ways.split(',')) {
        console.log(await line({ way, url, inFlight, repeats: Number(values.repeats) }));
      }
    }
  } finally {
    await stopChild(endpoint);
  }
}

void main();
