/** A process of its own, as the engine of a stack is: the real protocol server over a runtime that only keeps time. */
import pino from 'pino';
import { startLocalEngine } from '../src/engines/local/engine';
import type { Pace } from './paced-runtime';
import { PacedRuntime } from './paced-runtime';

export type EngineOrder = { readonly order: 'pace'; readonly pace: Pace } | { readonly order: 'take' };

async function serve(dataFolder: string): Promise<void> {
  const runtime = new PacedRuntime();
  const logger = pino({ level: 'warn' }, pino.destination(2));
  const engine = await startLocalEngine({ port: 0, dataFolder, runtime, logger });
  process.on('message', (message: EngineOrder) => {
    if (message.order === 'pace') runtime.pace = message.pace;
    process.send?.(runtime.take());
  });
  process.once('disconnect', () => process.exit(0));
  process.send?.(engine.url);
}

void serve(process.argv[2] ?? '');
