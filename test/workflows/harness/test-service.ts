import { join } from 'node:path';
import pino from 'pino';
import type { LocalEngine, LocalEngineOptions } from '../../../src/engines/local/engine';
import { startLocalEngine } from '../../../src/engines/local/engine';
import type { TinkerClient } from '../../../src/engines/tinker/client';
import { createTinkerClient } from '../../../src/engines/tinker/client';
import type { Hold } from './held-training';
import { untilSilent } from './stack';

type Options = Partial<LocalEngineOptions> & Pick<LocalEngineOptions, 'runtime' | 'dataFolder'>;

/** A training service of its own kind beside a stack's engine. Its clock stands still, except where a story moves it. */
export class TestService {
  private engine: LocalEngine | null = null;
  private time = Date.now();
  private passed = 0;

  private constructor(private readonly options: Options) {}

  static async start(options: Options): Promise<TestService> {
    const service = new TestService(options);
    await service.open(0);
    return service;
  }

  get url(): string {
    if (!this.engine) throw new Error('The service is not running.');
    return this.engine.url;
  }

  get dataFolder(): string {
    return this.options.dataFolder;
  }

  passSeconds(seconds: number): void {
    this.time += 1000 * seconds;
    this.passed += 1000 * seconds;
  }

  async withClient<Value>(use: (client: TinkerClient) => Promise<Value>): Promise<Value> {
    const client = createTinkerClient({ baseUrl: this.url });
    try {
      return await use(client);
    } finally {
      await client.close();
    }
  }

  /** As if it had died while a step was under way, and been started again: its models are gone, its checkpoints are not. */
  async restart(hold: Hold, whileAway: () => Promise<void> = () => Promise.resolve()): Promise<void> {
    const port = Number(new URL(this.url).port);
    const closed = this.close();
    await untilSilent(this.url);
    hold.letGo();
    await closed;
    await whileAway();
    await this.open(port);
  }

  async close(): Promise<void> {
    await this.engine?.close();
  }

  /** Where a saved state lies. */
  folderOf(statePath: string): string {
    const [, modelId = '', kind = '', name = ''] =
      /^tinker:\/\/([^/]+)\/([^/]+)\/(.+)$/.exec(statePath) ?? [];
    return join(this.dataFolder, 'checkpoints', modelId.replaceAll(':', '_'), kind, name);
  }

  private async open(port: number): Promise<void> {
    const logger = pino({ level: 'silent' });
    const clocks = { now: () => this.time, elapsed: () => this.passed };
    this.engine = await startLocalEngine({ logger, ...clocks, ...this.options, port });
  }
}
