import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { Builds } from './builds';
import { EvalEndpoint, questionLines } from './eval-endpoint';
import { freePort } from './free-port';
import { Service } from './service';

export interface EvalSetting {
  /** Empty folder of this evaluation alone. */
  readonly folder: string;
  readonly builds: Builds;
  readonly examples: number;
  readonly concurrency: number;
  readonly delayMs: number;
}

/** How a command ended. */
export interface CommandEnd {
  readonly code: number | null;
  readonly printed: string;
  readonly complaint: string;
}

/** What one example may take; an endpoint that is slow takes longer. */
const TIMEOUT_SECONDS = '8';

/** An endpoint, a Temporal server and a worker, each to be taken down by itself. */
export class EvalSite {
  readonly server: Service;
  readonly worker: Service;
  /** What happened without having been planned. */
  readonly notes: string[] = [];

  private constructor(
    readonly setting: EvalSetting,
    private readonly port: number,
    readonly endpoint: EvalEndpoint,
  ) {
    const data = ['--data-dir', this.place('state')];
    this.server = this.service('server', ['temporal', '--port', String(port), '--headless', ...data]);
    this.worker = this.service('worker', ['worker', ...data, '--store', this.place('store')]);
  }

  static async open(setting: EvalSetting): Promise<EvalSite> {
    for (const name of ['logs', 'data/gsm8k'])
      mkdirSync(path.join(setting.folder, name), { recursive: true });
    writeFileSync(path.join(setting.folder, 'data/gsm8k/data.jsonl'), questionLines(setting.examples));
    const { delayMs } = setting;
    const site = new EvalSite(setting, await freePort(), await EvalEndpoint.start({ delayMs }));
    try {
      await site.start(site.server);
      await site.start(site.worker);
      return site;
    } catch (error) {
      await site.close();
      throw error;
    }
  }

  /** Folder of the benchmark's results. */
  get results(): string {
    return path.join(this.place('store'), 'evals', 'run', 'gsm8k');
  }

  async start(service: Service): Promise<void> {
    await service.start(this.setting.builds.current);
  }

  /** `everstep eval` as a person gives it; the same each time. */
  async evaluate(): Promise<CommandEnd> {
    const { builds, folder, concurrency } = this.setting;
    const asked = ['--endpoint', this.endpoint.url, '--model', 'canned', '--timeout', TIMEOUT_SECONDS];
    const places = ['--data-dir', this.place('state'), '--store', this.place('store')];
    const limit = ['--concurrency', String(concurrency)];
    const args = [builds.current, 'eval', 'gsm8k', '--run', 'run', '--json', ...asked, ...limit, ...places];
    const child = spawn(process.execPath, args, {
      cwd: folder,
      env: { ...this.environment(), EVERSTEP_DATA_DIR: this.place('data') },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const killNow = (): void => void child.kill('SIGKILL');
    process.once('exit', killNow);
    let [printed, complaint] = ['', ''];
    child.stdout.setEncoding('utf8').on('data', (part: string) => (printed += part));
    child.stderr.setEncoding('utf8').on('data', (part: string) => (complaint += part));
    await once(child, 'close');
    process.off('exit', killNow);
    return { code: child.exitCode, printed, complaint };
  }

  /** Ends every process. Folders stay. */
  async close(): Promise<void> {
    await Promise.all([this.worker.kill(), this.server.kill(), this.endpoint.down()]);
  }

  private place(name: string): string {
    return path.join(this.setting.folder, name);
  }

  private service(name: string, args: readonly string[]): Service {
    return new Service({
      name,
      args,
      folder: this.setting.folder,
      env: this.environment(),
      logFile: path.join(this.setting.folder, 'logs', `${name}.log`),
      onOwnEnd: (how) => this.notes.push(how),
    });
  }

  private environment(): NodeJS.ProcessEnv {
    const kept = Object.entries(process.env).filter(
      ([name]) => name === 'EVERSTEP_TEMPORAL_CLI' || !/^(TEMPORAL_|TINKER_|EVERSTEP_|OPENAI_)/.test(name),
    );
    return {
      ...Object.fromEntries(kept),
      EVERSTEP_NO_BUILD: '1',
      TEMPORAL_ADDRESS: `127.0.0.1:${this.port}`,
    };
  }
}
