/**
 * How much of what an endpoint allows is used where `concurrency` asks for far more, and how often it refuses, by the minute.
 *
 *     npx jiti bench/endpoint-limits.ts [--concurrency 64] [--minutes 3]
 *
 * Each limit has an endpoint of its own that only keeps time; all run side by side. `used` is answers over the answers that the limit allows.
 */
import { parseArgs } from 'node:util';
import { openEndpoint } from '../src/engines/openai/open-endpoint';
import type { BenchEndpointOptions } from './endpoint';
import { startBenchEndpoint } from './endpoint';

interface Limit {
  readonly name: string;
  readonly endpoint: BenchEndpointOptions;
  /** Answers a second. */
  readonly most: number;
}

const LIMITS: readonly Limit[] = [
  { name: '8 at once, 1 s each', endpoint: { limit: 8, delayMs: 1000 }, most: 8 },
  { name: '8 at once, Retry-After 1', endpoint: { limit: 8, delayMs: 1000, retryAfterSeconds: 1 }, most: 8 },
  { name: '10 a second', endpoint: { perSecond: 10, delayMs: 100 }, most: 10 },
  {
    name: '10 a second, Retry-After 1',
    endpoint: { perSecond: 10, delayMs: 400, retryAfterSeconds: 1 },
    most: 10,
  },
];

async function measure({ name, endpoint, most }: Limit, { concurrency = 64, minutes = 3 }) {
  const server = await startBenchEndpoint(endpoint);
  const completer = openEndpoint({
    url: server.url,
    apiKey: 'key',
    model: 'canned',
    api: 'chat',
    concurrency,
  });
  const until = performance.now() + minutes * 60_000;
  const ask = async () => {
    while (performance.now() < until) {
      await completer.complete({
        messages: [{ role: 'user', content: 'How many?' }],
        params: { maxTokens: 16, temperature: 0, topP: 1 },
      });
    }
  };
  const asking = Array.from({ length: concurrency * 2 }, ask);
  let before = { answeredCount: 0, refusedCount: 0 };
  const rows: string[] = [];
  for (let minute = 1; minute <= minutes; minute++) {
    await new Promise((resolve) => setTimeout(resolve, 60_000));
    const { answeredCount, refusedCount } = server.stats;
    const used = (answeredCount - before.answeredCount) / (most * 60);
    rows.push(`${(100 * used).toFixed(1)} % used, ${refusedCount - before.refusedCount} refused`);
    before = { answeredCount, refusedCount };
  }
  await Promise.all(asking);
  await completer.close();
  await server.close();
  return `${name}: ${rows.join('; ')}`;
}

async function main(): Promise<void> {
  const { values } = parseArgs({ options: { concurrency: { type: 'string' }, minutes: { type: 'string' } } });
  const options = {
    ...(values.concurrency !== undefined && { concurrency: Number(values.concurrency) }),
    ...(values.minutes !== undefined && { minutes: Number(values.minutes) }),
  };
  for (const line of await Promise.all(LIMITS.map((limit) => measure(limit, options)))) {
    process.stdout.write(`${line}\n`);
  }
}

void main();
