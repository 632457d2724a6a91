import path from 'node:path';
import pino from 'pino';
import type { LocalEngine } from '../../../src/engines/local/engine';
import { startLocalEngine } from '../../../src/engines/local/engine';
import type { StrictMode } from '../../../src/engines/local/server/strict/strict-mode';
import { HeldTraining } from '../../workflows/harness/held-training';
import type { Place } from './program';

/** A training service in this process, which outlives every other: its updates wait where a story needs them to. */
export class HeldEngine {
  private constructor(
    private readonly engine: LocalEngine,
    readonly training: HeldTraining,
  ) {}

  static async start(place: Place, strict?: StrictMode): Promise<HeldEngine> {
    const runtime = await HeldTraining.create();
    const dataFolder = path.join(place.folder, 'held engine');
    const logger = pino({ level: 'silent' });
    const options = { port: 0, dataFolder, runtime, logger, ...(strict && { strict }) };
    return new HeldEngine(await startLocalEngine(options), runtime);
  }

  get url(): string {
    return this.engine.url;
  }

  async close(): Promise<void> {
    this.training.letAllGo();
    await this.engine.close();
    await this.training.close();
  }
}
