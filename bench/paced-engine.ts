/** A process of its own, as the engine of a stack is: the real protocol server over a runtime that only keeps time. */
import pino from 'pino';
import { startLocalEngine } from '../src/engines/local/engine';
import type { Moment } from './engine-traffic';
import { EngineTraffic } from './engine-traffic';
import type { Pace } from './paced-runtime';
import { PacedRuntime } from './paced-runtime';
import type { WorkItem } from './work-items';

export type EngineOrder = { readonly order: 'pace'; readonly pace: Pace } | { readonly order: 'take' };

/** What the engine saw and did since it was last asked. */
export interface EngineReport {
  readonly work: readonly WorkItem[];
  readonly traffic: readonly Moment[];
}

async function serve(dataFolder: string): Promise<void> {
  const runtime = new PacedRuntime();
  const traffic = new EngineTraffic();
  traffic.listen();
  const logger = pino({ level: 'warn' }, pino.destination(2));
  const engine = await startLocalEngine({ port: 0, dataFolder, runtime, logger });
  process.on('message', (message: EngineOrder) => {
    if (message.order === 'pace') runtime.pace = message.pace;
    process.send?.({ work: runtime.take(), traffic: traffic.take() } satisfies EngineReport);
  });
  process.once('disconnect', () => process.exit(0));
  process.send?.(engine.url);
}

void serve(process.argv[2] ?? '');
